/** Live status: server-sent events while the tab is visible, and polling if they do not get through. */

const POLL = 10_000;
const REOPEN = 2_000;

/** Returns a copy of the status with a JSON Patch (RFC 6902): replace, remove, add a member, append to an array. */
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

  /** Calls `onStatus(status)` for every status, and `onOpen()` whenever the connection is established. */
  constructor(get, onStatus, onOpen) {
    Object.assign(this, { get, onStatus, onOpen });
    document.addEventListener("visibilitychange", () => this.#follow());
    setInterval(() => this.#poll(), POLL);
    this.#follow();
  }

  /** Opens the stream, or closes it in a hidden tab: browsers allow only six connections per server. */
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
      // The outbox already reports that the server cannot be reached.
    }
  }
}
