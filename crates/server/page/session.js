/**
 * The state of one annotator: the prefetched items, the answers, and the answer that is being reviewed. It does not use
 * the DOM. Every method changes the state immediately and dispatches "change"; requests follow in the background.
 */

import { requestError } from "./api.js";
import { newKey } from "./outbox.js";
import { beginning, sentence } from "./words.js";

/**
 * @import { Acknowledgement, Answer, AnswerEntry, Entry, Get, HistoryRow, Item, Left, NextReply, NoItemReason, Post, Settled,
 *   UndoReply, Verdict, WireItem } from "./types.d.ts"
 * @import { RequestError } from "./api.js"
 * @import { Outbox } from "./outbox.js"
 */

/** The number of items held: the one shown and enough prefetched ones that a fast annotator does not wait. */
const AHEAD = 5;
/** The largest number of items that one request may ask for. */
const MAX_REQUESTED = 60;
const REMEMBERED = 500;
/** The number of answers in the strip. */
export const STRIP = 10;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** The longest pause between requests for items while there are none for this annotator. */
const EMPTY_PAUSE_SECONDS = 15;

/** Events: "change", and "message" (detail: a sentence for the annotator). */
export class Session extends EventTarget {
  #fetching = false;
  #fetchAgain = false;
  /** The asks answered since the current request for items began. @type {Set<number>} */
  #answeredSince = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry = undefined;
  #pause = FIRST_PAUSE_MS;
  /** The items held; the first is shown. @type {Item[]} */
  items = [];
  /** The annotator's answers, newest first. @type {Answer[]} */
  answers = [];
  /** The answer that is being reviewed, or null. @type {Answer | null} */
  reviewed = null;
  /** The reason why there are no items. @type {NoItemReason | null} */
  reason = null;
  /** The counts of the remaining items. @type {Left | null} */
  left = null;
  /** The local time of those counts. */
  leftAt = 0;
  /** The error of the last request, or null. @type {RequestError | null} */
  error = null;
  started = false;
  /** True after the page has switched to another name. */
  over = false;

  /**
   * @param {string} name
   * @param {Outbox} outbox
   * @param {{ get: Get, post: Post }} api
   */
  constructor(name, outbox, api) {
    super();
    this.name = name;
    this.outbox = outbox;
    this.api = api;
    outbox.addEventListener("settled", this.#onSettled);
    outbox.addEventListener("elsewhere", this.#onElsewhere);
  }

  /** @param {Event} event */
  #onSettled = (event) => this.#settled(/** @type {CustomEvent<Settled>} */ (event).detail);

  /** @param {Event} event */
  #onElsewhere = (event) => this.#drop(/** @type {CustomEvent<AnswerEntry>} */ (event).detail.ask);

  /** Returns the item that is shown, or null. */
  get current() {
    return this.reviewed?.shown ?? this.items[0] ?? null;
  }

  /** Restores the earlier answers and the items that are still leased. */
  async start() {
    for (const entry of this.outbox.entries()) this.#restore(entry);
    await Promise.all([this.recall(), this.refill()]);
  }

  /**
   * Restores an answer that an earlier page left in the outbox.
   * @param {Entry} entry
   */
  #restore(entry) {
    if (entry.annotator !== this.name) return;
    this.answers = this.answers.filter(({ ask }) => ask !== entry.ask);
    if (entry.kind !== "answer") return;
    const { key, ask, item, verdict, preview } = entry;
    this.answers.unshift({ key, ask, item, verdict, preview, state: "waiting" });
  }

  /** Fetches the last answers from the server, and adds them after those that it does not have yet. */
  async recall() {
    try {
      const past = await this.api.get("/api/history", { annotator: this.name, n: String(STRIP) });
      const present = new Set([...this.answers, ...this.items, ...this.outbox.entries()].map(({ ask }) => ask));
      this.answers.push(...past.filter(({ ask }) => !present.has(ask)).map((row) => answerOf(row)));
      this.#changed();
    } catch {
      // The strip is optional; the request for the next items reports the error.
    }
  }

  /**
   * Answers the shown item and shows the next one immediately. Returns whether there was an item.
   * @param {Verdict} verdict
   */
  answer(verdict) {
    const item = this.current;
    if (!item) return false;
    const [key, { ask }, preview] = [newKey(), item, previewOf(item)];
    /** @type {Answer} */
    const answer = { key, ask, item: item.item, verdict, preview, shown: item, state: "waiting" };
    if (this.reviewed) {
      answer.replaced = this.reviewed;
      this.answers[this.answers.indexOf(this.reviewed)] = answer;
    } else {
      // A skipped item that was asked again loses its old entry.
      this.answers = [answer, ...this.answers.filter((old) => old.ask !== ask)];
    }
    this.answers.length = Math.min(this.answers.length, REMEMBERED);
    this.reviewed = null;
    this.#answeredSince.add(ask);
    this.items = this.items.filter((other) => other.ask !== ask);
    // The reason why there were no more items is outdated now.
    if (this.items.length === 0) this.reason = null;
    this.outbox.add({ kind: "answer", key, annotator: this.name, ask, item: item.item, preview, verdict });
    if (this.items.length < AHEAD) void this.refill();
    this.#changed();
    return true;
  }

  /** Withdraws the last answer and shows its item again, which the server provides if this page does not have it. */
  undo() {
    if (this.reviewed) this.keep();
    else this.#withdraw(this.answers[0]);
  }

  /**
   * Withdraws an answer; without one, the last answer that the server has.
   * @param {Answer | undefined} answer
   */
  #withdraw(answer) {
    this.answers = this.answers.filter((other) => other !== answer);
    if (answer) this.#answeredSince.delete(answer.ask);
    if (answer?.shown) this.items.unshift({ ...answer.shown, lost: false });
    this.#sendUndo(answer);
    this.#changed();
  }

  /**
   * Undoes an answer at the server. One that was never sent has only left the outbox, so the answer that it replaced is undone.
   * @param {Answer | undefined} answer
   */
  #sendUndo(answer) {
    const undo = this.outbox.undo({ key: newKey(), of: answer?.key ?? undefined, annotator: this.name, ask: answer?.ask, answer: answer?.answer });
    if (undo === null && answer?.replaced) this.#sendUndo(answer.replaced);
  }

  /**
   * Shows an answered item again; a new answer replaces the old one in place. An answer whose item this page does not have
   * is withdrawn instead.
   * @param {Answer} answer
   */
  review(answer) {
    if (answer.shown) {
      this.reviewed = answer;
      this.#changed();
    } else {
      this.#withdraw(answer);
      this.#notify("Your answer was withdrawn. Please answer again.");
    }
  }

  /** Keeps the answer that is being reviewed. */
  keep() {
    this.reviewed = null;
    this.#changed();
  }

  /** Drops the shown item without an answer, after its lease has expired. */
  dropCurrent() {
    this.items.shift();
    void this.refill();
    this.#changed();
  }

  /** @param {number} ask */
  #drop(ask) {
    this.items = this.items.filter((item) => item.ask !== ask);
    void this.refill();
    this.#changed();
  }

  /** Fetches items until enough are held, one request at a time. Skips items that were answered in the meantime. */
  async refill() {
    if (this.#fetching) {
      this.#fetchAgain = true;
      return;
    }
    clearTimeout(this.#retry);
    const unsettled = this.outbox.asks();
    if (this.over || unsettled.size > MAX_REQUESTED - AHEAD) return;
    this.#fetching = true;
    this.#fetchAgain = false;
    this.#answeredSince = new Set();
    try {
      this.#take(await this.api.post("/api/next", { annotator: this.name, n: AHEAD + unsettled.size }), unsettled);
      this.#pause = FIRST_PAUSE_MS;
    } catch (caught) {
      this.error = requestError(caught);
      this.#fetchAgain = false;
      this.#refillIn(this.#pause);
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    }
    this.#fetching = false;
    this.started = true;
    this.#changed();
    if (this.#fetchAgain && this.items.length < AHEAD) void this.refill();
  }

  /**
   * @param {NextReply} reply
   * @param {Set<number>} unsettled
   */
  #take(reply, unsettled) {
    const held = new Set(this.items.map(({ ask }) => ask));
    const fresh = reply.items.filter(({ ask }) => !held.has(ask) && !unsettled.has(ask) && !this.#answeredSince.has(ask));
    this.items.push(...fresh.map((item) => withDeadline(item)));
    this.error = null;
    this.reason = reply.reason;
    this.left = reply.left;
    this.leftAt = Date.now();
    if (this.items.length > 0) return;
    const free = reply.reason === "all-leased" ? (reply.left.next_free_seconds ?? 5) : EMPTY_PAUSE_SECONDS;
    this.#refillIn(reply.reason === null ? 700 : Math.min(free, EMPTY_PAUSE_SECONDS) * 1000 + 300);
  }

  /** @param {number} milliseconds */
  #refillIn(milliseconds) {
    clearTimeout(this.#retry);
    if (!this.over) this.#retry = setTimeout(() => void this.refill(), milliseconds);
  }

  /** Renews the leases of the held items. Drops an item whose lease was lost, unless it is the one shown. */
  async heartbeat() {
    const asks = this.items.map(({ ask }) => ask);
    if (asks.length === 0 || this.over) return;
    try {
      const { lost } = await this.api.post("/api/heartbeat", { annotator: this.name, asks });
      this.error = null;
      this.#renew(new Set(lost));
      if (this.items.length < AHEAD) void this.refill();
    } catch (caught) {
      this.error = requestError(caught);
      this.#refillIn(this.#pause);
      this.checkDeadlines();
    }
  }

  /** @param {Set<number>} lost */
  #renew(lost) {
    const [first] = this.items;
    this.items = this.items.filter((item) => item === first || !lost.has(item.ask));
    for (const item of this.items) {
      if (lost.has(item.ask)) this.#expire(item);
      else Object.assign(item, withDeadline(item), { lost: false });
    }
    this.#changed();
  }

  /** Expires the lease of the shown item by the local clock, for when the server cannot be reached. */
  checkDeadlines() {
    const [first] = this.items;
    if (first && Date.now() > first.deadline) this.#expire(first);
    this.#changed();
  }

  /** @param {Item} item */
  #expire(item) {
    if (item.lost) return;
    item.lost = true;
    this.#notify("Your time for this item ran out. Your answer still counts.");
  }

  /** Releases the held items when another annotator takes over. */
  leave() {
    this.over = true;
    clearTimeout(this.#retry);
    this.outbox.removeEventListener("settled", this.#onSettled);
    this.outbox.removeEventListener("elsewhere", this.#onElsewhere);
    const asks = this.items.map(({ ask }) => ask);
    if (asks.length > 0) this.api.post("/api/release", { annotator: this.name, asks }).catch(() => {});
  }

  /** @param {Settled} settled */
  #settled(settled) {
    if (settled.entry.annotator !== this.name) return;
    if (settled.kind === "undo") this.#undone(settled.reply);
    else this.#acknowledged(settled.reply);
    if (this.items.length < AHEAD) void this.refill();
    this.#changed();
  }

  /** @param {Acknowledgement} reply */
  #acknowledged(reply) {
    const answer = this.answers.find(({ key }) => key === reply.key);
    if (answer) {
      answer.state = reply.status === "repeated" ? "saved" : reply.status;
      if (reply.answer !== undefined) answer.answer = reply.answer;
    }
    if (reply.status === "late") this.#notify("Your answer came after the item went to someone else. It is saved anyway.");
    if (reply.status === "refused") this.#notify(`An answer was rejected: ${sentence(reply.why ?? "no reason given")}`);
  }

  /**
   * Handles the reply to an undo: its item comes first, unless it is already held or was answered again.
   * @param {UndoReply} reply
   */
  #undone(reply) {
    const [item] = reply.items;
    if (!item) {
      if (reply.why) this.#notify(`Can't undo that answer: ${sentence(reply.why)}`);
      else if (!reply.undone) this.#notify("Nothing to undo.");
      return;
    }
    this.answers = this.answers.filter(({ ask, shown }) => shown || ask !== item.ask);
    const isHeld = this.items.some(({ ask }) => ask === item.ask);
    if (!isHeld && !this.outbox.asks().has(item.ask) && !this.#answeredSince.has(item.ask)) this.items.unshift(withDeadline(item));
    if (this.answers.length < STRIP) void this.recall();
  }

  /** @param {string} message */
  #notify(message) {
    this.dispatchEvent(new CustomEvent("message", { detail: message }));
  }

  #changed() {
    if (!this.over) this.dispatchEvent(new Event("change"));
  }
}

/**
 * @param {WireItem} item
 * @returns {Item}
 */
const withDeadline = (item) => ({ ...item, deadline: Date.now() + item.lease_seconds * 1000 });

/**
 * @param {HistoryRow} row
 * @returns {Answer}
 */
const answerOf = ({ answer, ask, item, label, skip, unsure, preview }) => ({
  key: null, answer, ask, item, verdict: verdictOf(label, skip, unsure), preview, state: "saved",
});

/**
 * @param {string | number | null} label
 * @param {boolean} skip
 * @param {boolean} unsure
 * @returns {Verdict}
 */
function verdictOf(label, skip, unsure) {
  if (skip) return { skip: true };
  return unsure || label === null ? { unsure: true } : { label };
}

/** @param {WireItem} item */
function previewOf(item) {
  const field = item.fields.find(({ kind }) => kind === "text") ?? item.fields.find(({ kind }) => kind !== "image");
  return beginning(String(field?.value ?? item.item));
}
