/**
 * What one person has in hand: the items fetched ahead, the answers given, the item that is looked at again.
 * No document here: every method changes the state at once and tells "change"; the server hears of it behind.
 */

import { newKey } from "./outbox.js";
import { beginning } from "./words.js";

/** Items held at a time: the one shown and enough ahead that a fast hand does not wait. */
const AHEAD = 5;
const MOST = 60;
const REMEMBERED = 500;
export const STRIP = 10;

/**
 * Events: "change", and "told" (detail: a sentence for the person).
 * A given answer: {key, answer?, ask, item, verdict, preview, full?, state: "waiting"|"saved"|"late"|"refused"}.
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
    /** The given answer that is looked at again, or null. */
    this.again = null;
    this.reason = null;
    this.left = null;
    this.trouble = null;
    this.started = false;
    /** A page that goes on under another name leaves this session behind. */
    this.over = false;
    this.onSettled = ({ detail }) => this.#settled(detail);
    this.onElsewhere = ({ detail }) => this.#drop(detail.ask);
    outbox.addEventListener("settled", this.onSettled);
    outbox.addEventListener("elsewhere", this.onElsewhere);
  }

  get current() {
    return this.again ? this.again.full : (this.items[0] ?? null);
  }

  /** Finds the place again: what was answered before, and the items still held. */
  async start() {
    this.#recallWaiting();
    await Promise.all([this.recall(), this.refill()]);
  }

  /** Answers that an earlier page left in the outbox. */
  #recallWaiting() {
    for (const entry of this.outbox.entries()) {
      if (entry.annotator !== this.name) continue;
      this.given = this.given.filter((given) => given.ask !== entry.ask);
      if (entry.kind === "answer") this.given.unshift({ ...pick(entry), state: "waiting" });
    }
  }

  /** The last answers as the server has them, behind those it does not have yet. */
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
      // The strip is a help, not a need; the next items tell of the trouble.
    }
  }

  /** Answers the item that is shown, and shows the next one at once. */
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
      // A skipped item that came back leaves its old place.
      this.given = [given, ...this.given.filter((old) => old.ask !== ask)];
    }
    this.given.length = Math.min(this.given.length, REMEMBERED);
    this.again = null;
    this.#answeredSince.add(ask);
    this.items = this.items.filter((other) => other.ask !== ask);
    // Why there was no more is an old answer now.
    if (this.items.length === 0) this.reason = null;
    this.outbox.add({ kind: "answer", key, annotator: this.name, ask, item: item.item, preview, verdict });
    if (this.items.length < AHEAD) this.refill();
    this.#changed();
    return true;
  }

  /** Takes the last answer back and shows its item again; from the server's memory where this page has none. */
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

  /** Shows an answered item again; what is answered then replaces the answer, nothing else moves. */
  lookAgain(given) {
    if (given.full) {
      this.again = given;
      this.#changed();
    } else {
      this.takeBack(given);
      this.#tell("That answer is taken back; give it again.");
    }
  }

  /** Leaves the answer that is looked at as it was. */
  keep() {
    this.again = null;
    this.#changed();
  }

  /** Puts the shown item away unanswered, where its lease has run out. */
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

  /** Fetches items until enough are held. One request at a time; what is answered meanwhile is not taken in again. */
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

  /** Renews the leases of what is held. An item lost to others is dropped, unless it is the one being read. */
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

  /** Without a server to ask, a lease ends when its time is over. */
  checkDeadlines() {
    const [first] = this.items;
    if (first && !first.lost && Date.now() > first.deadline) this.#expire(first);
    this.#changed();
  }

  #expire(item) {
    if (!item.lost) this.#tell("Your hold on this item has run out. An answer still counts.");
    item.lost = true;
  }

  /** Hands back what is held, when another person takes over. */
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

  /** The undone item comes first, unless it is here already or has been answered again. */
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
