/** The labeling page: connects the state (session, outbox) with the display and the input. */

import { RequestError, belongTo, get, post, requestError } from "./api.js";
import { buildChoices, choiceButtons, clearFilter, flash, markChosen, showKeys, verdictName } from "./choices.js";
import { announce, byId, focusOn, make } from "./dom.js";
import { adviceTitle } from "./figures.js";
import { preload, showItem } from "./item.js";
import { Keys } from "./keys.js";
import { Live } from "./live.js";
import { noticeFor } from "./notices.js";
import { openObjective } from "./objective.js";
import { Outbox, waitingIn } from "./outbox.js";
import { showProgress } from "./progress.js";
import { showSaving } from "./saving.js";
import { Session } from "./session.js";
import { openSettings } from "./settings.js";
import { emptyState, nameForm, signedOut, state, unreachable } from "./states.js";
import { openStore, readPreferences, writePreferences } from "./store.js";
import { showStrip } from "./strip.js";
import { beginning, parseNumber } from "./words.js";

/**
 * @import { Answer, Preferences, Status, Verdict } from "./types.d.ts"
 * @import { NoticeAction } from "./notices.js"
 */

/** The annotator's name when one person labels on their own machine. */
const ALONE = "me";

const { store, lasting } = openStore();

/** The page, once the server has replied for the first time. */
class LabelingPage {
  /** The annotator's session; null until the name is known. @type {Session | null} */
  session = null;
  /** True while the page asks for a name. */
  naming = false;
  /** The last message for the annotator. */
  message = "";
  /** The item that is drawn, so that it is drawn once. @type {string | null} */
  shown = null;
  frame = 0;
  preferences = readPreferences(store);

  /** @param {Status} status */
  constructor(status) {
    this.status = status;
    /** The ledger that this page belongs to. */
    this.run = status.run;
    /** The annotator of the link, if each annotator has one. */
    this.you = status.you ?? null;
    this.outbox = new Outbox(store, this.run, post);
    this.outbox.volatile = !lasting;
    this.keys = new Keys(status.labels, store);
  }

  /** @param {Partial<Preferences>} change */
  prefer(change) {
    Object.assign(this.preferences, change);
    writePreferences(store, this.preferences);
  }

  onChange() {
    showKeys(this.keys);
    this.shown = null;
    render(this);
  }
}

// ---- starting

async function start() {
  byId("stage").replaceChildren(state("loading", "Loading"));
  const page = new LabelingPage(await firstStatus());
  belongTo(page.run);
  buildChoices(page.status.labels, page.keys, (label, byPointer) => answer(page, { label }, byPointer));
  wire(page);
  showStatus(page, page.status);
  const name = page.you ?? store.getItem("querist/name") ?? (severalPeople(page.status) ? null : ALONE);
  if (name === null) askName(page);
  else begin(page, name);
  page.outbox.flush();
  new Live(get, (status) => showStatus(page, status), () => reconnected(page));
}

/** Requests the status until the server replies. */
async function firstStatus() {
  for (let pause = 500; ; pause = Math.min(pause * 2, 5_000)) {
    try {
      return await get("/api/status");
    } catch (caught) {
      await showCannotStart(requestError(caught), pause);
    }
  }
}

/**
 * Shows why the page cannot start; waits for a pause or the button that retries.
 * @param {RequestError} error
 * @param {number} pause
 */
function showCannotStart(error, pause) {
  const waiting = waitingIn(store);
  return new Promise((resolve) => {
    const retry = () => resolve(null);
    replaceIfNew(error.kind === "signed-out" ? signedOut(waiting) : unreachable(waiting, retry));
    showSaving({ size: waiting, error }, null);
    setTimeout(retry, pause);
  });
}

/**
 * Returns whether several people label, so that the page must ask for a name.
 * @param {Status} status
 */
function severalPeople(status) {
  const ownMachine = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return !ownMachine || status.overlap > 1 || status.annotators.some(({ name }) => name !== ALONE);
}

/** @param {LabelingPage} page */
function askName(page) {
  page.naming = true;
  render(page);
  focusOn(byId("stage"), "#name");
}

/**
 * Stores the annotator's name for the next visit.
 * @param {string} name
 */
function rememberName(name) {
  try {
    store.setItem("querist/name", name);
  } catch {
    // The storage is full; the page asks again next time.
  }
}

/**
 * @param {LabelingPage} page
 * @param {string} name
 */
function begin(page, name) {
  if (!page.you) rememberName(name);
  page.session?.leave();
  page.naming = false;
  page.shown = null;
  const session = new Session(name, page.outbox, { get, post });
  page.session = session;
  session.addEventListener("change", () => render(page));
  session.addEventListener("message", (event) => showMessage(page, /** @type {CustomEvent<string>} */ (event).detail));
  const person = byId("person", HTMLButtonElement);
  person.hidden = false;
  person.textContent = name;
  person.disabled = page.you !== null;
  person.setAttribute("aria-label", page.you ? `You are ${name}` : `${name}: label under another name`);
  render(page);
  void session.start();
}

/**
 * Sends and fetches at once, after the connection came back.
 * @param {LabelingPage} page
 */
function reconnected({ outbox, session }) {
  outbox.flush();
  if (session?.error || session?.items.length === 0) void session.refill();
}

/**
 * @param {LabelingPage} page
 * @param {Status} status
 */
function showStatus(page, status) {
  const { session, status: before } = page;
  if (status.run !== page.run) {
    if (session) session.error = new RequestError("other-run", "This address now serves another session.");
    return render(page);
  }
  page.status = status;
  document.title = `${status.title} – Querist`;
  byId("title").replaceChildren(make("span", { dir: "auto", text: status.title }));
  cancelAnimationFrame(page.frame);
  page.frame = requestAnimationFrame(() => showProgress(status));
  if (before.stop.advice !== "stop" && status.stop.advice === "stop") announce(`${adviceTitle(status.stop)}. ${status.stop.why}`);
  // Another annotator answered or released an item, so there may be items again.
  if (countsDiffer(before, status) && session?.started && session.items.length === 0 && !session.error) void session.refill();
  render(page);
}

/**
 * @param {Status} before
 * @param {Status} now
 */
const countsDiffer = (before, now) =>
  before.answered !== now.answered || before.skipped !== now.skipped || before.unsure !== now.unsure
  || before.pending !== now.pending || before.answers !== now.answers;

// ---- answering

/**
 * @param {LabelingPage} page
 * @param {Verdict} verdict
 * @param {boolean} byPointer
 */
function answer(page, verdict, byPointer = false) {
  const { session } = page;
  if (!session || page.naming) return;
  page.message = "";
  if (!session.answer(verdict)) return;
  clearFilter();
  byId("number", HTMLInputElement).value = "";
  byId("number-problem").textContent = "";
  // The next space key should skip, not press the clicked button again.
  if (byPointer) byId("stage").focus({ preventScroll: true });
  preload(session.items.slice(1, 4));
}

/**
 * Performs the action of a key.
 * @param {LabelingPage} page
 * @param {string} action
 */
function perform(page, action) {
  if (action === "undo") {
    flash(byId("undo"));
    undo(page);
  } else if (action === "skip" || action === "unsure") {
    flash(byId(action));
    answer(page, action === "skip" ? { skip: true } : { unsure: true });
  } else {
    const index = Number(action.slice("label:".length));
    const label = page.status.labels[index];
    flash(choiceButtons()[index]);
    if (label !== undefined) answer(page, { label });
  }
}

/** @param {LabelingPage} page */
function undo(page) {
  page.message = "";
  page.session?.undo();
}

/**
 * @param {LabelingPage} page
 * @param {SubmitEvent} event
 */
function answerNumber(page, event) {
  event.preventDefault();
  const field = byId("number", HTMLInputElement);
  const value = parseNumber(field.value);
  field.setAttribute("aria-invalid", String(value === null));
  byId("number-problem").textContent = value === null ? "Enter a number with a decimal point, such as 3.5" : "";
  if (value !== null) answer(page, { label: value });
}

// ---- keys

/**
 * @param {LabelingPage} page
 * @param {KeyboardEvent} event
 */
function pressed(page, event) {
  const { session, keys } = page;
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.defaultPrevented || event.isComposing || !session || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && session.reviewed) return session.keep();
  const typing = target.closest("input, select, textarea");
  if (typing && !passesThrough(typing, event)) return;
  if (!typing && keys.enabled && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (event.key === "?") return openSettings(page);
    if (event.key === "/" && !byId("filter-row").hidden) {
      event.preventDefault();
      return byId("filter").focus();
    }
  }
  const native = target.closest("button, a, summary") && (event.key === " " || event.key === "Enter");
  const action = keys.actionFor(event);
  if (!action || native || page.naming) return;
  event.preventDefault();
  // Holding a key down gives one answer only.
  if (!event.repeat) perform(page, action);
}

/**
 * Returns whether a key in an empty field still triggers its action, because it cannot start an entry.
 * @param {Element} field
 * @param {KeyboardEvent} event
 */
function passesThrough(field, event) {
  if (!(field instanceof HTMLInputElement) || field.value !== "") return false;
  if (field.id === "number") return !/^[0-9+\-−.,e]$/i.test(event.key);
  return field.id === "filter" && [" ", "Backspace"].includes(event.key);
}

// ---- showing

/** @param {LabelingPage} page */
function render(page) {
  const { session } = page;
  if (!session && !page.naming) return;
  showSaving(page.outbox, session);
  showStage(page);
  showNotice(page);
  if (session) showStrip(session, (picked) => session.review(picked));
}

/** @param {LabelingPage} page */
function showStage(page) {
  const { session, status, outbox } = page;
  const item = page.naming ? null : (session?.current ?? null);
  byId("actions").hidden = item === null;
  if (item === null) {
    page.shown = null;
    if (page.naming) showNameForm(page);
    else if (session) replaceIfNew(emptyState({ session, status, outbox, retry: () => reconnected(page) }));
    return;
  }
  const shown = `${item.ask}/${session?.reviewed?.key ?? ""}`;
  if (page.shown === shown) return;
  page.shown = shown;
  const stage = byId("stage");
  showItem(stage, item, {
    hidden: !page.preferences.why,
    onToggle: () => toggle(page, { why: !page.preferences.why }, ".why button"),
    marks: page.preferences.marks,
    onMarks: () => toggle(page, { marks: !page.preferences.marks }, ".hidden-signs button"),
  });
  stage.style.setProperty("--type", page.preferences.size);
  showActions(status, session?.reviewed ?? null);
  announce(`Next: ${beginning(item.fields.map(({ kind, value }) => (kind === "image" ? "a picture" : value)).join(". "), 400)}`);
  if (window.scrollY > 0) window.scrollTo({ top: 0, behavior: "instant" });
}

/** @param {LabelingPage} page */
function showNameForm(page) {
  const stage = byId("stage");
  if (stage.querySelector("#name")) return;
  stage.replaceChildren(nameForm(page.status.annotators, page.session?.name ?? "", (name) => begin(page, name)));
}

/**
 * Changes a preference and keeps the focus on its button.
 * @param {LabelingPage} page
 * @param {Partial<Preferences>} change
 * @param {string} selector
 */
function toggle(page, change, selector) {
  page.prefer(change);
  page.onChange();
  focusOn(byId("stage"), selector);
}

/**
 * @param {Status} status
 * @param {Answer | null} reviewed
 */
function showActions(status, reviewed) {
  const numeric = status.task === "number";
  byId("number-form").hidden = !numeric;
  byId("choices").hidden = numeric;
  byId("keep").hidden = !reviewed;
  markChosen(status.labels, reviewed?.verdict ?? null);
  if (numeric && !document.querySelector("dialog[open]")) byId("number").focus({ preventScroll: true });
}

/** @param {HTMLElement} next */
function replaceIfNew(next) {
  const stage = byId("stage");
  const before = stage.childElementCount === 1 && stage.firstElementChild instanceof HTMLElement ? stage.firstElementChild : null;
  if (before?.isEqualNode(next)) return;
  const focused = stage.querySelector(":focus") !== null;
  stage.replaceChildren(next);
  if (focused && !focusOn(next, "button, input")) stage.focus();
  if (before?.dataset.state !== next.dataset.state) announce(next.textContent);
}

/**
 * @param {LabelingPage} page
 * @param {string} message
 */
function showMessage(page, message) {
  page.message = message;
  announce(message);
  render(page);
}

/**
 * @param {LabelingPage} page
 * @param {NoticeAction} action
 */
function performNotice(page, action) {
  if (action === "reload") return location.reload();
  if (action === "next") return page.session?.dropCurrent();
  page.message = "";
  page.outbox.dismissRejected();
}

/** @param {LabelingPage} page */
function showNotice(page) {
  const { outbox, session, status, message } = page;
  const notice = noticeFor({ outbox, session, status, message, elsewhere: waitingIn(store) - outbox.size });
  byId("notice").hidden = notice === null;
  if (notice === null) return;
  const text = make("span", { id: "notice-text" }, notice.text, notice.verdict ? verdictName(notice.verdict) : null, notice.after);
  if (!byId("notice-text").isEqualNode(text)) byId("notice-text").replaceWith(text);
  const { action } = notice;
  const button = byId("notice-action");
  button.hidden = !action;
  button.textContent = action?.text ?? "";
  button.onclick = action ? () => performNotice(page, action.kind) : null;
}

// ---- wiring

/** @param {LabelingPage} page */
function wire(page) {
  page.outbox.addEventListener("change", () => render(page));
  addEventListener("storage", (event) => page.outbox.heard(event));
  addEventListener("online", () => reconnected(page));
  addEventListener("keydown", (event) => pressed(page, event));
  addEventListener("beforeunload", (event) => {
    if (page.outbox.size > 0) event.preventDefault();
  });
  byId("skip").onclick = (event) => answer(page, { skip: true }, event.detail > 0);
  byId("unsure").onclick = (event) => answer(page, { unsure: true }, event.detail > 0);
  byId("undo").onclick = () => undo(page);
  byId("keep").onclick = () => page.session?.keep();
  byId("number-form").onsubmit = (event) => answerNumber(page, event);
  byId("open-settings").onclick = () => openSettings(page);
  byId("open-objective").onclick = () => void openObjective(get, page.status.draw);
  byId("person").onclick = () => askName(page);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    void page.session?.heartbeat();
    reconnected(page);
  });
  renewLeases(page);
  setInterval(() => {
    if (page.session?.left && !page.session.current) render(page);
  }, 1_000);
}

/**
 * Renews leases three times per lease period while the page is visible.
 * @param {LabelingPage} page
 */
function renewLeases(page) {
  let renewed = Date.now();
  setInterval(() => {
    const lease = page.session?.items[0]?.lease_seconds ?? 60;
    if (document.hidden || Date.now() - renewed < (lease * 1000) / 3) return;
    renewed = Date.now();
    void page.session?.heartbeat();
  }, 500);
}

void start();
