/** Live status: server-sent events while the tab is visible, and polling if they do not get through. */

/** @import { Get, PatchOperation, Status } from "./types.d.ts" */

const POLL_MS = 10_000;
const REOPEN_MS = 2_000;

/**
 * Returns a copy of a document with a JSON Patch (RFC 6902): replace, remove, add a member, append to an array.
 * @template T
 * @param {T} document
 * @param {PatchOperation[]} operations
 * @returns {T}
 */
export function patched(document, operations) {
  const root = { document: structuredClone(document) };
  for (const { op, path, value } of operations) {
    const names = ["document", ...path.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))];
    const last = names.pop() ?? "document";
    const target = names.reduce((node, name) => members(node)[name], /** @type {unknown} */ (root));
    if (Array.isArray(target)) patchArray(target, last, op, value);
    else if (op === "remove") delete members(target)[last];
    else members(target)[last] = value;
  }
  return root.document;
}

/**
 * Returns a JSON object or array as its members. Throws if the path of a patch leads elsewhere.
 * @param {unknown} node
 */
function members(node) {
  if (typeof node !== "object" || node === null) throw new TypeError("a patch names a member that does not exist");
  return /** @type {Record<string, unknown>} */ (node);
}

/**
 * @param {unknown[]} array
 * @param {string} name
 * @param {string} op
 * @param {unknown} value
 */
function patchArray(array, name, op, value) {
  if (op === "remove") array.splice(Number(name), 1);
  else array[name === "-" ? array.length : Number(name)] = value;
}

export class Live {
  /** @type {EventSource | null} */
  #source = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer = undefined;

  /**
   * Calls `onStatus(status)` for every status, and `onOpen()` whenever the connection is established.
   * @param {Get} get
   * @param {(status: Status) => void} onStatus
   * @param {() => void} onOpen
   */
  constructor(get, onStatus, onOpen) {
    this.get = get;
    this.onStatus = onStatus;
    this.onOpen = onOpen;
    document.addEventListener("visibilitychange", () => this.#follow());
    setInterval(() => void this.#poll(), POLL_MS);
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
    /** @type {Status | null} */
    let status = null;
    const receive = (/** @type {Status} */ received) => {
      status = received;
      this.onStatus(received);
    };
    source.addEventListener("status", (event) => receive(JSON.parse(event.data)));
    source.addEventListener("patch", (event) => {
      if (status) receive(patched(status, JSON.parse(event.data)));
    });
    source.addEventListener("open", () => this.onOpen());
    source.addEventListener("error", () => {
      if (this.#source !== source || source.readyState !== EventSource.CLOSED) return;
      this.#source = null;
      this.#timer = setTimeout(() => this.#follow(), REOPEN_MS);
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
