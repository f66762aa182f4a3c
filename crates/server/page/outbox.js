/**
 * The queue of answers and undos to send. Each is first written to the browser's storage. Then they are sent in order,
 * each under its own key, and retried until the server acknowledges them, also after a reload.
 *
 * Each has its own storage entry, so two tabs never overwrite each other. The key makes repeated sending harmless.
 */

import { RequestError, requestError } from "./api.js";

/**
 * @import { Acknowledgement, AnswerEntry, Entry, KeyValueStore, NewEntry, Post, RejectedEntry, Settled, UndoEntry }
 *   from "./types.d.ts"
 */

const BATCH = 40;
/** The number of digits of an id that define the order; the key follows. */
const ORDER_DIGITS = 16;
const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 5_000;

/** Returns a random UUID. `crypto.randomUUID` is missing on pages that are served by plain HTTP. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/**
 * Returns the names in a storage that begin with a prefix.
 * @param {KeyValueStore} storage
 * @param {string} prefix
 */
const namesIn = (storage, prefix) =>
  Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "").filter((name) => name.startsWith(prefix));

/**
 * Returns the number of pending entries in a storage, for all runs.
 * @param {KeyValueStore} storage
 */
export const waitingIn = (storage) => namesIn(storage, "querist/outbox/").length;

/**
 * @param {{ id: string }} a
 * @param {{ id: string }} b
 */
const byOrder = (a, b) => (a.id < b.id ? -1 : 1);

/**
 * Events: "change" (the pending entries or the error changed), "settled" (the server replied; detail: `Settled`), and
 * "elsewhere" (another tab answered; detail: its entry).
 */
export class Outbox extends EventTarget {
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** The server's numbers of answers, by key. @type {Map<string, number>} */
  #numbers = new Map();
  #running = false;
  /** Ends the current pause. @type {(() => void) | null} */
  #wake = null;
  #pause = FIRST_PAUSE_MS;
  /** The largest number in an id so far. */
  #last = 0;
  /** The error that prevents the first entry from being saved, or null. @type {RequestError | null} */
  error = null;
  /** True if the browser could not store an entry, which is then lost with this tab. */
  volatile = false;

  /**
   * @param {KeyValueStore} storage
   * @param {string} run
   * @param {Post} post
   */
  constructor(storage, run, post) {
    super();
    this.storage = storage;
    this.prefix = `querist/outbox/${run}/`;
    this.rejectedPrefix = `querist/refused/${run}/`;
    this.post = post;
    /** @type {RejectedEntry[]} */
    this.rejected = this.#stored(this.rejectedPrefix);
    /** @type {Entry[]} */
    const pending = this.#stored(this.prefix);
    for (const entry of pending) this.#adopt(entry);
  }

  /**
   * Adds an entry of an earlier page or of another tab. Later entries come after it, even if the clock was set back.
   * @param {Entry} entry
   */
  #adopt(entry) {
    this.#entries.set(entry.id, { ...entry, sent: true });
    const number = Number(entry.id.slice(0, ORDER_DIGITS));
    if (Number.isSafeInteger(number)) this.#last = Math.max(this.#last, number);
  }

  /**
   * Returns the stored entries below a prefix, in order. What this page did not write is skipped and not touched.
   * @param {string} prefix
   */
  #stored(prefix) {
    const found = [];
    for (const name of namesIn(this.storage, prefix)) {
      const entry = parseEntry(this.storage.getItem(name));
      if (entry && prefix + entry.id === name) found.push(entry);
    }
    return found.sort(byOrder);
  }

  get size() {
    return this.#entries.size;
  }

  entries() {
    return [...this.#entries.values()].sort(byOrder);
  }

  /** Returns the asks with answers that the server has not acknowledged yet. */
  asks() {
    /** @type {Set<number>} */
    const asks = new Set();
    for (const entry of this.entries()) {
      if (entry.kind === "answer") asks.add(entry.ask);
      else if (entry.ask !== undefined) asks.delete(entry.ask);
    }
    return asks;
  }

  /**
   * Stores an entry and starts sending. Returns the entry with its id, which defines the order.
   * @param {NewEntry} entry
   * @returns {Entry}
   */
  add(entry) {
    this.#last = Math.max(Date.now() * 100, this.#last + 1);
    const stored = { id: `${String(this.#last).padStart(ORDER_DIGITS, "0")}-${entry.key}`, ...entry };
    this.#entries.set(stored.id, stored);
    this.#write(this.prefix, stored);
    this.#changed();
    this.flush();
    return stored;
  }

  /**
   * Undoes an answer. One that was never sent is just removed from the queue; the result is then null.
   * @param {{ key: string, of?: string | undefined, annotator: string, ask?: number | undefined, answer?: number | undefined }} undo
   */
  undo({ key, of, annotator, ask, answer }) {
    const waiting = of === undefined ? undefined : this.entries().find((entry) => entry.key === of);
    if (waiting && !waiting.sent) {
      this.#remove(waiting);
      this.#changed();
      return null;
    }
    const number = answer ?? (of === undefined ? undefined : this.#numbers.get(of));
    return this.add({ kind: "undo", key, annotator, ...(ask !== undefined && { ask }), ...(of !== undefined && { of }), ...(number !== undefined && { answer: number }) });
  }

  /** Sends now instead of after the pause. */
  flush() {
    this.#pause = Math.min(this.#pause, FIRST_PAUSE_MS);
    if (this.#wake) this.#wake();
    else void this.#send();
  }

  /**
   * Handles a storage event: another tab changed an entry.
   * @param {{ key: string | null, newValue: string | null }} event
   */
  heard({ key, newValue }) {
    if (!key?.startsWith(this.prefix)) return;
    if (newValue === null) {
      this.#entries.delete(key.slice(this.prefix.length));
    } else {
      const entry = parseEntry(newValue);
      if (!entry || this.#entries.has(entry.id)) return;
      this.#adopt(entry);
      if (entry.kind === "answer") this.dispatchEvent(new CustomEvent("elsewhere", { detail: entry }));
    }
    this.#changed();
  }

  /** Removes the answers that the server rejected, once the annotator has seen why. */
  dismissRejected() {
    for (const entry of this.rejected) this.storage.removeItem(this.rejectedPrefix + entry.id);
    this.rejected = [];
    this.#changed();
  }

  async #send() {
    if (this.#running) return;
    this.#running = true;
    while (this.size > 0) {
      try {
        await this.#deliver();
        this.error = null;
        this.#pause = FIRST_PAUSE_MS;
      } catch (caught) {
        this.error = requestError(caught);
        this.#changed();
        await this.#wait(this.#pause * (0.75 + Math.random() / 2));
        this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
      }
      this.#changed();
    }
    this.#running = false;
  }

  /**
   * Waits, or until `flush` is called.
   * @param {number} milliseconds
   */
  async #wait(milliseconds) {
    let timer;
    await new Promise((resolve) => {
      this.#wake = () => resolve(null);
      timer = setTimeout(this.#wake, milliseconds);
    });
    clearTimeout(timer);
    this.#wake = null;
  }

  async #deliver() {
    const answers = [];
    for (const entry of this.entries()) {
      if (entry.kind === "undo" && answers.length === 0) return this.#deliverUndo(entry);
      if (entry.kind === "undo" || answers.length === BATCH) break;
      answers.push(entry);
    }
    return this.#deliverAnswers(answers);
  }

  /** @param {AnswerEntry[]} batch */
  async #deliverAnswers(batch) {
    const [first, ...others] = batch;
    if (!first) return;
    for (const entry of batch) entry.sent = true;
    const body = batch.map(({ ask, annotator, key, verdict }) => ({ ask, annotator, key, ...verdict }));
    let replies;
    try {
      replies = await this.post("/api/answers", body);
    } catch (caught) {
      const error = requestError(caught);
      if (error.kind !== "refused") throw error;
      // One bad answer must not block the others, so they are sent one by one.
      if (others.length > 0) await this.#deliverAnswers([first]);
      else this.#reject(first, error.message);
      return;
    }
    const byKey = new Map(replies.map((reply) => [reply.key, reply]));
    for (const entry of batch) {
      const reply = byKey.get(entry.key);
      if (!reply) throw new RequestError("unreachable", "The server did not confirm an answer.");
      this.#acknowledge(entry, reply);
    }
  }

  /**
   * @param {AnswerEntry} entry
   * @param {Acknowledgement} reply
   */
  #acknowledge(entry, reply) {
    if (reply.status === "refused") {
      this.#reject(entry, reply.why ?? "");
      return;
    }
    if (reply.answer !== undefined) this.#numbered(entry.key, reply.answer);
    this.#settle({ kind: "answer", entry, reply });
  }

  /**
   * Records the server's number of an answer, also in the undos that wait for it.
   * @param {string} key
   * @param {number} answer
   */
  #numbered(key, answer) {
    this.#numbers.set(key, answer);
    for (const entry of this.entries()) {
      if (entry.kind !== "undo" || entry.of !== key) continue;
      entry.answer = answer;
      this.#write(this.prefix, entry);
    }
  }

  /** @param {UndoEntry} entry */
  async #deliverUndo(entry) {
    const { annotator, key, of, answer } = entry;
    // The answer to undo was rejected, so there is nothing to undo.
    if (of !== undefined && answer === undefined) return this.#remove(entry);
    try {
      this.#settle({ kind: "undo", entry, reply: await this.post("/api/undo", answer === undefined ? { annotator, key } : { annotator, key, answer }) });
    } catch (caught) {
      const error = requestError(caught);
      if (error.kind !== "refused") throw error;
      this.#settle({ kind: "undo", entry, reply: { undone: null, items: [], why: error.message } });
    }
  }

  /** @param {Settled} settled */
  #settle(settled) {
    this.#remove(settled.entry);
    this.dispatchEvent(new CustomEvent("settled", { detail: settled }));
  }

  /**
   * @param {AnswerEntry} entry
   * @param {string} why
   */
  #reject(entry, why) {
    const rejected = { ...entry, why };
    this.#write(this.rejectedPrefix, rejected);
    this.rejected.push(rejected);
    this.#settle({ kind: "answer", entry, reply: { ask: entry.ask, key: entry.key, status: "refused", why } });
  }

  /**
   * @param {string} prefix
   * @param {Entry} entry
   */
  #write(prefix, entry) {
    try {
      this.storage.setItem(prefix + entry.id, JSON.stringify({ ...entry, sent: undefined }));
    } catch {
      this.volatile = true;
    }
  }

  /** @param {Entry} entry */
  #remove(entry) {
    this.#entries.delete(entry.id);
    this.storage.removeItem(this.prefix + entry.id);
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * Parses a stored entry, or returns null if it is none.
 * @param {string | null} text
 */
function parseEntry(text) {
  try {
    const entry = JSON.parse(text ?? "null");
    return typeof entry?.id === "string" ? entry : null;
  } catch {
    return null;
  }
}
