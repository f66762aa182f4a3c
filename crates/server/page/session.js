/**
 * The state of one annotator: the prefetched items, the answers, and the answer that is being reviewed. It does not use
 * the DOM. Every method changes the state immediately and dispatches "change"; requests follow in the background.
 */

import { newKey } from "./outbox.js";
import { beginning } from "./words.js";

/** The number of items held: the one shown and enough prefetched ones that a fast annotator does not wait. */
const AHEAD = 5;
const MOST = 60;
const REMEMBERED = 500;
export const STRIP = 10;

/**
 * Events: "change", and "told" (detail: a message for the annotator).
 * An entry of `given`, an answer, is {key, answer?, ask, item, verdict, preview, full?, state: "waiting"|"saved"|"late"|"refused"}.
 */
export class Session extends EventTarget {
  #fetching = false;
  #fetchAgain = false;
  #answeredSince = new Set();
  #retry = 0;
  #pause = 500;

  constructor(name, outbox, api) {
    super();
    this.name = name;
    this.outbox = outbox;
    this.api = api;
    this.items = [];
    this.given = [];
    /** The answer that is being reviewed, or null. */
    this.again = null;
    this.reason = null;
    this.left = null;
    this.trouble = null;
    this.started = false;
    /** True after the page has switched to another name. */
    this.over = false;
    this.onSettled = ({ detail }) => this.#settled(detail);
    this.onElsewhere = ({ detail }) => this.#drop(detail.ask);
    outbox.addEventListener("settled", this.onSettled);
    outbox.addEventListener("elsewhere", this.onElsewhere);
  }

  get current() {
    return this.again ? this.again.full : (this.items[0] ?? null);
  }

  /** Restores the earlier answers and the items that are still leased. */
  async start() {
    this.#recallWaiting();
    await Promise.all([this.recall(), this.refill()]);
  }

  /** Restores the answers that an earlier page left in the outbox. */
  #recallWaiting() {
    for (const entry of this.outbox.entries()) {
      if (entry.annotator !== this.name) continue;
      this.given = this.given.filter((given) => given.ask !== entry.ask);
      if (entry.kind === "answer") this.given.unshift({ ...pick(entry), state: "waiting" });
    }
  }

  /** Fetches the last answers from the server, and adds them after those that it does not have yet. */
  async recall() {
    try {
      const past = await this.api.get(`/api/history?annotator=${encodeURIComponent(this.name)}&n=${STRIP}`);
      const known = new Set([...this.given, ...this.items, ...this.outbox.entries()].map(({ ask }) => ask));
      const before = past.filter(({ ask }) => !known.has(ask)).map((row) => ({
        key: null, answer: row.answer, ask: row.ask, item: row.item, verdict: verdictOf(row), preview: row.preview, state: "saved",
      }));
      this.given.push(...before);
      this.#changed();
    } catch {
      // The strip is optional; the request for the next items reports the trouble.
    }
  }

  /** Answers the shown item and shows the next one immediately. */
  answer(verdict) {
    const item = this.current;
    if (!item) return false;
    const given = {
      key: newKey(), ask: item.ask, item: item.item, verdict, preview: previewOf(item), full: item, state: "waiting",
    };
    const { key, ask, preview } = given;
    if (this.again) {
      this.given[this.given.indexOf(this.again)] = given;
    } else {
      // A skipped item that was asked again loses its old entry.
      this.given = [given, ...this.given.filter((old) => old.ask !== ask)];
    }
    this.given.length = Math.min(this.given.length, REMEMBERED);
    this.again = null;
    this.#answeredSince.add(ask);
    this.items = this.items.filter((other) => other.ask !== ask);
    // The reason why there were no more items is outdated now.
    if (this.items.length === 0) this.reason = null;
    this.outbox.add({ kind: "answer", key, annotator: this.name, ask, item: item.item, preview, verdict });
    if (this.items.length < AHEAD) this.refill();
    this.#changed();
    return true;
  }

  /** Withdraws the last answer and shows its item again, which the server provides if this page does not have it. */
  undo() {
    if (this.again) return this.keep();
    this.takeBack(this.given[0] ?? null);
  }

  takeBack(given) {
    this.given = this.given.filter((other) => other !== given);
    const ask = given?.ask;
    this.#answeredSince.delete(ask);
    if (given?.full) this.items.unshift({ ...given.full, lost: false });
    this.outbox.undo({ key: newKey(), of: given?.key ?? undefined, annotator: this.name, ask, answer: given?.answer });
    this.#changed();
  }

  /** Shows an answered item again; a new answer replaces the old one in place. */
  lookAgain(given) {
    if (given.full) {
      this.again = given;
      this.#changed();
    } else {
      this.takeBack(given);
      this.#tell("That answer is taken back; give it again.");
    }
  }

  /** Keeps the answer that is being reviewed. */
  keep() {
    this.again = null;
    this.#changed();
  }

  /** Drops the shown item without an answer, after its lease has expired. */
  letGo() {
    this.items.shift();
    this.refill();
    this.#changed();
  }

  #drop(ask) {
    this.items = this.items.filter((item) => item.ask !== ask);
    this.refill();
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
    if (this.over || unsettled.size > MOST - AHEAD) return;
    this.#fetching = true;
    this.#fetchAgain = false;
    this.#answeredSince = new Set();
    try {
      this.#take(await this.api.post("/api/next", { annotator: this.name, n: AHEAD + unsettled.size }), unsettled);
      this.#pause = 500;
    } catch (trouble) {
      this.trouble = trouble;
      this.#fetchAgain = false;
      this.#refillIn(this.#pause);
      this.#pause = Math.min(this.#pause * 2, 5_000);
    }
    this.#fetching = false;
    this.started = true;
    this.#changed();
    if (this.#fetchAgain && this.items.length < AHEAD) this.refill();
  }

  #take(reply, unsettled) {
    const held = new Set(this.items.map(({ ask }) => ask));
    const taken = (ask) => held.has(ask) || unsettled.has(ask) || this.#answeredSince.has(ask);
    const fresh = reply.items.filter(({ ask }) => !taken(ask));
    this.items.push(...fresh.map((item) => withDeadline(item)));
    this.trouble = null;
    this.reason = reply.reason;
    this.left = reply.left;
    this.leftAt = Date.now();
    if (this.items.length > 0) return;
    const wait = reply.reason === "all-leased" ? Math.min(reply.left.next_free_seconds ?? 5, 15) : 15;
    this.#refillIn(reply.reason === null ? 700 : wait * 1000 + 300);
  }

  #refillIn(milliseconds) {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.refill(), milliseconds);
  }

  /** Renews the leases of the held items. Drops an item whose lease was lost, unless it is the one shown. */
  async heartbeat() {
    const asks = this.items.map(({ ask }) => ask);
    if (asks.length === 0 || this.over) return;
    try {
      const { lost } = await this.api.post("/api/heartbeat", { annotator: this.name, asks });
      const gone = new Set(lost);
      this.trouble = null;
      for (const item of this.items) {
        if (!gone.has(item.ask)) Object.assign(item, withDeadline(item));
      }
      this.items = this.items.filter((item, place) => place === 0 || !gone.has(item.ask));
      if (gone.has(this.items[0]?.ask)) this.#expire(this.items[0]);
      else if (this.items[0]?.lost) Object.assign(this.items[0], { lost: false });
      this.#changed();
      if (this.items.length < AHEAD) this.refill();
    } catch (trouble) {
      this.trouble = trouble;
      this.#refillIn(this.#pause);
      this.checkDeadlines();
    }
  }

  /** Expires the lease of the shown item by the local clock, for when the server cannot be reached. */
  checkDeadlines() {
    const [first] = this.items;
    if (first && !first.lost && Date.now() > first.deadline) this.#expire(first);
    this.#changed();
  }

  #expire(item) {
    if (!item.lost) this.#tell("Your hold on this item has run out. An answer still counts.");
    item.lost = true;
  }

  /** Releases the held items when another annotator takes over. */
  leave() {
    this.over = true;
    clearTimeout(this.#retry);
    this.outbox.removeEventListener("settled", this.onSettled);
    this.outbox.removeEventListener("elsewhere", this.onElsewhere);
    const asks = this.items.map(({ ask }) => ask);
    if (asks.length > 0) this.api.post("/api/release", { annotator: this.name, asks }).catch(() => {});
  }

  #settled({ entry, reply }) {
    if (entry.annotator !== this.name) return;
    if (entry.kind === "undo") this.#undone(entry, reply);
    else this.#acknowledged(entry, reply);
    if (this.items.length < AHEAD) this.refill();
    this.#changed();
  }

  #acknowledged(entry, reply) {
    const given = this.given.find(({ key }) => key === entry.key);
    if (given) Object.assign(given, { answer: reply.answer, state: reply.status === "repeated" ? "saved" : reply.status });
    if (reply.status === "late") this.#tell("That answer came after its item was passed on; it is kept.");
    if (reply.status === "refused") this.#tell(`An answer was refused: ${reply.why}`);
  }

  /** Handles the reply to an undo: its item comes first, unless it is already held or was answered again. */
  #undone(entry, reply) {
    const [item] = reply.items ?? [];
    if (!item) {
      if (reply.why) this.#tell(`That answer could not be undone: ${reply.why}`);
      else if (!reply.undone) this.#tell("There is nothing left to undo.");
      return;
    }
    this.given = this.given.filter(({ ask, full }) => full || ask !== item.ask);
    const here = this.items.some(({ ask }) => ask === item.ask);
    if (!here && !this.outbox.asks().has(item.ask) && !this.#answeredSince.has(item.ask)) this.items.unshift(withDeadline(item));
    if (this.given.length < STRIP) this.recall();
  }

  #tell(sentence) {
    this.dispatchEvent(new CustomEvent("told", { detail: sentence }));
  }

  #changed() {
    if (!this.over) this.dispatchEvent(new Event("change"));
  }
}

const pick = ({ key, ask, item, verdict, preview }) => ({ key, ask, item, verdict, preview });

const withDeadline = (item) => ({ ...item, deadline: Date.now() + item.lease_seconds * 1000 });

function verdictOf({ label, skip, unsure }) {
  if (skip) return { skip: true };
  return unsure ? { unsure: true } : { label };
}

function previewOf(item) {
  const field = item.fields.find(({ kind }) => kind === "text") ?? item.fields.find(({ kind }) => kind !== "image");
  return beginning(String(field?.value ?? item.item));
}
