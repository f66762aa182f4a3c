/**
 * The queue of answers and undos to send. Each is first written to the browser's storage. Then they are sent in order,
 * each under its own key, and retried until the server acknowledges them, also after a reload.
 *
 * Each has its own storage entry, so two tabs never overwrite each other. The key makes repeated sending harmless.
 */

import { Trouble } from "./api.js";

const BATCH = 40;
const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 5_000;

/** Returns a random UUID. `crypto.randomUUID` is missing on pages that are served by plain HTTP. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Returns the number of pending entries in a storage, for all runs. */
export const waitingIn = (storage) =>
  Array.from({ length: storage.length }, (_, index) => storage.key(index)).filter((name) => name.startsWith("querist/outbox/")).length;

/**
 * Events: "change" (the pending entries or the trouble changed), "settled" (the server replied; detail: {entry, reply}),
 * "elsewhere" (another tab answered; detail: entry).
 *
 * An entry is {id, kind: "answer"|"undo", key, annotator, ask, verdict?, item?, preview?, answer?, of?}. `of` is the key of
 * the answer to undo, for when the server's number of that answer is still unknown. `sent` means that the server may have
 * the entry. It is not stored, because entries of an earlier page may always have been sent.
 */
export class Outbox extends EventTarget {
  #entries = new Map();
  #numbers = new Map();
  #running = false;
  #wake = null;
  #pause = FIRST_PAUSE;
  #last = 0;

  constructor(storage, run, post) {
    super();
    this.storage = storage;
    this.prefix = `querist/outbox/${run}/`;
    this.refusedPrefix = `querist/refused/${run}/`;
    this.post = post;
    /** The error that prevents the first entry from being saved, or null. */
    this.trouble = null;
    /** True if the browser could not store an entry, which is then lost with this tab. */
    this.volatile = false;
    this.refused = this.#stored(this.refusedPrefix);
    for (const entry of this.#stored(this.prefix)) this.#entries.set(entry.id, { ...entry, sent: true });
  }

  #stored(prefix) {
    const found = [];
    for (let index = 0; index < this.storage.length; index += 1) {
      const name = this.storage.key(index);
      if (!name.startsWith(prefix)) continue;
      try {
        found.push(JSON.parse(this.storage.getItem(name)));
      } catch {
        // Not written by this page, so it is not touched.
      }
    }
    return found.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  get size() {
    return this.#entries.size;
  }

  entries() {
    return [...this.#entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns the asks with answers that the server has not acknowledged yet. */
  asks() {
    const asks = new Set();
    for (const entry of this.entries()) {
      if (entry.kind === "answer") asks.add(entry.ask);
      else asks.delete(entry.ask);
    }
    return asks;
  }

  /** Stores an entry and starts sending. Returns the entry with its id, which defines the order. */
  add(entry) {
    this.#last = Math.max(Date.now() * 100, this.#last + 1);
    const kept = { id: `${String(this.#last).padStart(16, "0")}-${entry.key}`, ...entry };
    this.#entries.set(kept.id, kept);
    this.#write(this.prefix, kept);
    this.#changed();
    this.flush();
    return kept;
  }

  /** Undoes an answer. One that was never sent is just removed from the queue. */
  undo({ key, of, annotator, ask, answer }) {
    const waiting = this.entries().find((entry) => entry.key === of);
    if (waiting && !waiting.sent) {
      this.#remove(waiting);
      this.#changed();
      return null;
    }
    return this.add({ kind: "undo", key, annotator, ask, of, answer: answer ?? this.#numbers.get(of) });
  }

  /** Sends now instead of after the pause. */
  flush() {
    this.#pause = Math.min(this.#pause, FIRST_PAUSE);
    if (this.#wake) this.#wake();
    else this.#send();
  }

  /** Handles a storage event: another tab changed an entry. */
  heard(event) {
    if (!event.key?.startsWith(this.prefix)) return;
    if (event.newValue === null) {
      this.#entries.delete(event.key.slice(this.prefix.length));
    } else {
      const entry = JSON.parse(event.newValue);
      if (this.#entries.has(entry.id)) return;
      this.#entries.set(entry.id, { ...entry, sent: true });
      if (entry.kind === "answer") this.dispatchEvent(new CustomEvent("elsewhere", { detail: entry }));
    }
    this.#changed();
  }

  /** Removes the answers that the server rejected, once the annotator has seen why. */
  dismissRefused() {
    for (const entry of this.refused) this.storage.removeItem(this.refusedPrefix + entry.id);
    this.refused = [];
    this.#changed();
  }

  async #send() {
    if (this.#running) return;
    this.#running = true;
    while (this.size > 0) {
      try {
        await this.#deliver();
        this.trouble = null;
        this.#pause = FIRST_PAUSE;
      } catch (trouble) {
        this.trouble = trouble;
        this.#changed();
        await new Promise((resolve) => {
          this.#wake = resolve;
          setTimeout(resolve, this.#pause * (0.75 + Math.random() / 2));
        });
        this.#wake = null;
        this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
      }
      this.#changed();
    }
    this.#running = false;
  }

  async #deliver() {
    const waiting = this.entries();
    if (waiting[0].kind === "undo") return this.#deliverUndo(waiting[0]);
    const end = waiting.findIndex((entry) => entry.kind === "undo");
    return this.#deliverAnswers(waiting.slice(0, end < 0 ? BATCH : Math.min(end, BATCH)));
  }

  async #deliverAnswers(batch) {
    for (const entry of batch) entry.sent = true;
    const body = batch.map(({ ask, annotator, key, verdict }) => ({ ask, annotator, key, ...verdict }));
    let replies;
    try {
      replies = await this.post("/api/answers", body);
    } catch (trouble) {
      if (trouble.kind !== "refused") throw trouble;
      // One bad answer must not block the others, so they are sent one by one.
      if (batch.length > 1) return this.#deliverAnswers(batch.slice(0, 1));
      return this.#refuse(batch[0], trouble.message);
    }
    const byKey = new Map(replies.map((reply) => [reply.key, reply]));
    for (const entry of batch) {
      const reply = byKey.get(entry.key);
      if (!reply) throw new Trouble("unreachable", "The server left an answer without a reply.");
      if (reply.status === "refused") {
        this.#refuse(entry, reply.why);
      } else {
        this.#numbered(entry.key, reply.answer);
        this.#settle(entry, reply);
      }
    }
  }

  /** Records the server's number of an answer, also in the undos that wait for it. */
  #numbered(key, answer) {
    this.#numbers.set(key, answer);
    for (const entry of this.entries()) {
      if (entry.of !== key) continue;
      entry.answer = answer;
      this.#write(this.prefix, entry);
    }
  }

  async #deliverUndo(entry) {
    const { annotator, key, of, answer } = entry;
    // The answer to undo was rejected, so there is nothing to undo.
    if (of !== undefined && answer === undefined) return this.#remove(entry);
    try {
      this.#settle(entry, await this.post("/api/undo", answer === undefined ? { annotator, key } : { annotator, key, answer }));
    } catch (trouble) {
      if (trouble.kind !== "refused") throw trouble;
      this.#settle(entry, { undone: null, items: [], why: trouble.message });
    }
  }

  #settle(entry, reply) {
    this.#remove(entry);
    this.dispatchEvent(new CustomEvent("settled", { detail: { entry, reply } }));
  }

  #refuse(entry, why) {
    const refused = { ...entry, why };
    this.#write(this.refusedPrefix, refused);
    this.refused.push(refused);
    this.#settle(entry, { ask: entry.ask, key: entry.key, status: "refused", why });
  }

  #write(prefix, entry) {
    try {
      this.storage.setItem(prefix + entry.id, JSON.stringify({ ...entry, sent: undefined }));
    } catch {
      this.volatile = true;
    }
  }

  #remove(entry) {
    this.#entries.delete(entry.id);
    this.storage.removeItem(this.prefix + entry.id);
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
