/** Live numbers: server-sent events while the tab is seen, and the plain status where they do not come through. */

const POLL = 10_000;
const REOPEN = 2_000;

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
    source.addEventListener("status", (event) => this.onStatus(JSON.parse(event.data)));
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
