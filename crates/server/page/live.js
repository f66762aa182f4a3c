/** Live numbers: server-sent events while the tab is visible, and the plain status where they do not get through. */

const POLL = 10_000;
const REOPEN = 2_000;

/** A copy of the status with a JSON Patch (RFC 6902) applied: replace, remove, and add of a member or at the end of an array. */
export function patched(status, operations) {
  const root = { status: structuredClone(status) };
  for (const { op, path, value } of operations) {
    const names = ["status", ...path.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))];
    const last = names.pop();
    const target = names.reduce((node, name) => node[name], root);
    if (op !== "remove") target[last === "-" ? target.length : last] = value;
    else if (Array.isArray(target)) target.splice(Number(last), 1);
    else delete target[last];
  }
  return root.status;
}

export class Live {
  #source = null;
  #timer = 0;

  /** `onStatus(status)` for every status; `onOpen()` when the server is (again) there. */
  constructor(get, onStatus, onOpen) {
    Object.assign(this, { get, onStatus, onOpen });
    document.addEventListener("visibilitychange", () => this.#follow());
    setInterval(() => this.#poll(), POLL);
    this.#follow();
  }

  /** A hidden tab gives its connection back: browsers allow only six to a server. */
  #follow() {
    clearTimeout(this.#timer);
    if (document.hidden) {
      this.#source?.close();
      this.#source = null;
    } else if (!this.#source) {
      this.#open();
    }
  }

  #open() {
    const source = new EventSource("/api/events");
    this.#source = source;
    let status = null;
    const receive = (received) => {
      status = received;
      this.onStatus(status);
    };
    source.addEventListener("status", (event) => receive(JSON.parse(event.data)));
    source.addEventListener("patch", (event) => receive(patched(status, JSON.parse(event.data))));
    source.addEventListener("open", () => this.onOpen());
    source.addEventListener("error", () => {
      if (this.#source !== source || source.readyState !== EventSource.CLOSED) return;
      this.#source = null;
      this.#timer = setTimeout(() => this.#follow(), REOPEN);
    });
  }

  async #poll() {
    if (document.hidden || this.#source?.readyState === EventSource.OPEN) return;
    try {
      this.onStatus(await this.get("/api/status"));
    } catch {
      // The page says so already where it matters: at the answers.
    }
  }
}
