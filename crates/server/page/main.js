/** The labeling page: connects the state (session, outbox) with the display and the input. */

import { Trouble, belongTo, get, post } from "./api.js";
import { buildChoices, clearFilter, flash, markChosen, showKeys, verdictName } from "./choices.js";
import { announce, byId, make } from "./dom.js";
import { preload, showItem } from "./item.js";
import { Keys } from "./keys.js";
import { Live } from "./live.js";
import { openObjective } from "./objective.js";
import { Outbox, waitingIn } from "./outbox.js";
import { showProgress } from "./progress.js";
import { showSaving } from "./saving.js";
import { Session } from "./session.js";
import { openSettings } from "./settings.js";
import { emptyState, gone, nameForm, signedOut } from "./states.js";
import { openStore } from "./store.js";
import { showStrip } from "./strip.js";
import { beginning, many } from "./words.js";

/** The annotator's name when one person labels on their own machine. */
const ALONE = "me";

const store = openStore();
const page = {
  status: null, keys: null, outbox: null, session: null, naming: false, told: "", shown: null, frame: 0,
  /** The annotator of the link, if each annotator has one. */
  you: null,
  /** The ledger that this page belongs to. */
  run: null,
  preferences: { why: true, size: "1", marks: false, ...store.preferences() },
  prefer(change) {
    Object.assign(page.preferences, change);
    store.prefer(page.preferences);
  },
  onChange() {
    showKeys(page.keys);
    page.shown = null;
    render();
  },
};

// ---- starting

async function start() {
  byId("stage").replaceChildren(make("div", { class: "state", "data-state": "loading" }, make("h2", { text: "Starting" })));
  for (let pause = 500; page.status === null; pause = Math.min(pause * 2, 5_000)) {
    try {
      page.status = await get("/api/status");
    } catch (trouble) {
      await cannotStart(trouble, pause);
    }
  }
  page.run = page.status.run;
  belongTo(page.run);
  page.outbox = new Outbox(store, page.run, post);
  page.outbox.volatile = !store.lasting;
  page.keys = new Keys(page.status.labels, store);
  buildChoices(page.status.labels, page.keys, (label, byPointer) => answer({ label }, byPointer));
  wire();
  showStatus(page.status);
  page.you = page.status.you ?? null;
  const name = page.you ?? store.getItem("querist/name") ?? (severalPeople(page.status) ? null : ALONE);
  if (name === null) askName();
  else begin(name);
  page.outbox.flush();
  new Live(get, showStatus, back);
}

function cannotStart(trouble, pause) {
  const before = { size: waitingIn(store), trouble };
  return new Promise((resolve) => {
    replaceIfNew(trouble.kind === "signed-out" ? signedOut(before.size) : gone({ outbox: before, retry: resolve }));
    showSaving(before, null);
    setTimeout(resolve, pause);
  });
}

/** Returns whether several people label, so that the page must ask for a name. */
function severalPeople(status) {
  const ownMachine = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return !ownMachine || status.overlap > 1 || status.annotators.some(({ name }) => name !== ALONE);
}

function askName() {
  page.naming = true;
  render();
  byId("name")?.focus();
}

function begin(name) {
  if (!page.you) store.setItem("querist/name", name);
  page.session?.leave();
  page.naming = false;
  page.shown = null;
  page.session = new Session(name, page.outbox, { get, post });
  page.session.addEventListener("change", render);
  page.session.addEventListener("told", ({ detail }) => tell(detail));
  const person = byId("person");
  person.hidden = false;
  person.textContent = name;
  person.disabled = page.you !== null;
  person.setAttribute("aria-label", page.you ? `You are ${name}` : `${name}: label under another name`);
  render();
  page.session.start();
}

function back() {
  page.outbox.flush();
  if (page.session?.trouble || page.session?.items.length === 0) page.session.refill();
}

function showStatus(status) {
  if (status.run !== page.run) {
    if (page.session) page.session.trouble = new Trouble("other-run", "Another ledger is served here now.");
    return render();
  }
  const before = page.status;
  page.status = status;
  document.title = `${status.title} – Querist`;
  byId("title").replaceChildren(make("span", { dir: "auto", text: status.title }));
  cancelAnimationFrame(page.frame);
  page.frame = requestAnimationFrame(() => showProgress(status, () => openObjective(get)));
  if (before?.stop.advice !== "stop" && status.stop.advice === "stop") announce(`You may stop. ${status.stop.why}`);
  // Another annotator answered or released an item, so there may be items again.
  const moved = ["answered", "skipped", "unsure", "pending", "answers"].some((name) => before?.[name] !== status[name]);
  if (moved && page.session?.started && page.session.items.length === 0 && !page.session.trouble) page.session.refill();
  render();
}

// ---- answering

function answer(verdict, byPointer = false) {
  const { session } = page;
  if (!session || page.naming) return;
  page.told = "";
  if (!session.answer(verdict)) return;
  clearFilter();
  byId("number").value = "";
  byId("number-problem").textContent = "";
  // The next space key should skip, not press the clicked button again.
  if (byPointer) byId("stage").focus({ preventScroll: true });
  preload(session.items.slice(1, 4));
}

function perform(action) {
  if (action === "undo") {
    flash(byId("undo"));
    return undo();
  }
  if (action === "skip" || action === "unsure") {
    flash(byId(action));
    return answer({ [action]: true });
  }
  const index = Number(action.slice("label:".length));
  flash(byId("choices").children[index]);
  return answer({ label: page.status.labels[index] });
}

function undo() {
  page.told = "";
  page.session?.undo();
}

function answerNumber(event) {
  event.preventDefault();
  const text = byId("number").value.trim();
  const value = Number(text.replace("−", "-"));
  const fine = text !== "" && Number.isFinite(value) && /^[-+−]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text);
  byId("number").setAttribute("aria-invalid", String(!fine));
  byId("number-problem").textContent = fine ? "" : "A number, please, with a point for decimals: 3.5";
  if (fine) answer({ label: value });
}

// ---- keys

function pressed(event) {
  if (event.defaultPrevented || event.isComposing || !page.session || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && page.session.again) return page.session.keep();
  const typing = event.target.closest("input, select, textarea");
  if (typing && !passesThrough(typing, event)) return;
  if (!typing && page.keys.enabled && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (event.key === "?") return openSettings(page);
    if (event.key === "/" && !byId("filter-row").hidden) {
      event.preventDefault();
      return byId("filter").focus();
    }
  }
  const native = event.target.closest("button, a, summary") && (event.key === " " || event.key === "Enter");
  const action = page.keys.actionFor(event);
  if (!action || native || page.naming) return;
  event.preventDefault();
  // Holding a key down gives one answer only.
  if (!event.repeat) perform(action);
}

/** Returns whether a key in an empty field still triggers its action, because it cannot start an entry. */
function passesThrough(field, event) {
  if (field.value !== "") return false;
  if (field.id === "number") return !/^[0-9+\-−.,e]$/i.test(event.key);
  return field.id === "filter" && [" ", "Backspace"].includes(event.key);
}

// ---- showing

function render() {
  if (!page.session && !page.naming) return;
  showSaving(page.outbox, page.session);
  showStage();
  showNotice();
  if (page.session) showStrip(page.session, (given) => page.session.lookAgain(given));
}

function showStage() {
  const { session, status, outbox } = page;
  const item = page.naming ? null : (session?.current ?? null);
  byId("actions").hidden = item === null;
  if (item === null) {
    page.shown = null;
    if (page.naming) {
      if (!byId("name")) byId("stage").replaceChildren(nameForm(status.annotators, session?.name ?? "", begin));
    } else {
      replaceIfNew(emptyState({ session, status, outbox, retry: back }));
    }
    return;
  }
  const shown = `${item.ask}/${session.again?.key ?? ""}`;
  if (page.shown === shown) return;
  page.shown = shown;
  showItem(byId("stage"), item, {
    hidden: !page.preferences.why, onToggle: toggleWhy, marks: page.preferences.marks, onMarks: toggleMarks,
  });
  byId("stage").style.setProperty("--type", page.preferences.size);
  showActions(session.again);
  announce(`Next: ${beginning(item.fields.map(({ kind, value }) => (kind === "image" ? "a picture" : value)).join(". "), 400)}`);
  if (window.scrollY > 0) window.scrollTo({ top: 0, behavior: "instant" });
}

function toggleWhy() {
  page.prefer({ why: !page.preferences.why });
  page.onChange();
  byId("stage").querySelector(".why button").focus();
}

function toggleMarks() {
  page.prefer({ marks: !page.preferences.marks });
  page.onChange();
  byId("stage").querySelector(".hidden-signs button")?.focus();
}

function showActions(again) {
  const numeric = page.status.task === "number";
  byId("number-form").hidden = !numeric;
  byId("choices").hidden = numeric;
  byId("keep").hidden = !again;
  markChosen(page.status.labels, again?.verdict ?? null);
  if (numeric && !document.querySelector("dialog[open]")) byId("number").focus({ preventScroll: true });
}

function replaceIfNew(state) {
  const stage = byId("stage");
  if (stage.childElementCount === 1 && stage.firstElementChild.isEqualNode(state)) return;
  const same = stage.firstElementChild?.dataset.state === state.dataset.state;
  const focused = stage.querySelector(":focus") !== null;
  stage.replaceChildren(state);
  if (focused) (state.querySelector("button, input") ?? stage).focus();
  if (!same) announce(state.textContent);
}

function tell(sentence) {
  page.told = sentence;
  announce(sentence);
  render();
}

function dismiss() {
  page.told = "";
  page.outbox.dismissRefused();
}

/** Returns the most important notice and its action, or null. */
function notice() {
  const { session, outbox, status } = page;
  const [refused] = outbox.refused;
  if (refused) {
    return { content: [`An answer was refused (${refused.preview}): ${refused.why}`], action: "Dismiss", run: dismiss };
  }
  if (!session?.current) return null;
  if (session.again) return { content: ["You answered ", verdictName(session.again.verdict), ". Choose again, or keep it."] };
  if (session.current.lost) {
    return { content: ["Your hold on this item has run out; others may get it. An answer still counts."], action: "Take the next", run: () => session.letGo() };
  }
  const trouble = outbox.trouble;
  if (trouble?.kind === "signed-out") {
    return { content: ["Signed out: open the address that querist label printed. Your answers are kept here until then."] };
  }
  if ((trouble ?? session.trouble)?.kind === "other-run") {
    return { content: ["Another ledger is served here now. Answers are kept for the one this page belongs to."], action: "Open the new one", run: () => location.reload() };
  }
  if (trouble?.kind === "store" || !status.store.writable) {
    const why = trouble?.kind === "store" ? trouble.message : status.store.problem;
    return { content: [`Answers cannot be saved now: ${why ?? "the store is read-only"} Yours are kept here and sent when it can.`] };
  }
  const elsewhere = waitingIn(store) - outbox.size;
  if (elsewhere > 0 && !page.told) {
    return { content: [`${many(elsewhere, "answer")} for another ledger wait${elsewhere === 1 ? "s" : ""} in this browser until that one is served here again.`] };
  }
  return page.told ? { content: [page.told] } : null;
}

function showNotice() {
  const now = notice();
  byId("notice").hidden = now === null;
  if (now === null) return;
  const text = make("span", { id: "notice-text" }, ...now.content);
  if (!byId("notice-text").isEqualNode(text)) byId("notice-text").replaceWith(text);
  const button = byId("notice-action");
  button.hidden = !now.action;
  button.textContent = now.action ?? "";
  button.onclick = now.run ?? null;
}

// ---- wiring

function wire() {
  page.outbox.addEventListener("change", render);
  addEventListener("storage", (event) => page.outbox.heard(event));
  addEventListener("online", back);
  addEventListener("keydown", pressed);
  addEventListener("beforeunload", (event) => {
    if (page.outbox.size > 0) event.preventDefault();
  });
  byId("skip").onclick = (event) => answer({ skip: true }, event.detail > 0);
  byId("unsure").onclick = (event) => answer({ unsure: true }, event.detail > 0);
  byId("undo").onclick = undo;
  byId("keep").onclick = () => page.session.keep();
  byId("number-form").onsubmit = answerNumber;
  byId("open-settings").onclick = () => openSettings(page);
  byId("person").onclick = askName;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    page.session?.heartbeat();
    back();
  });
  keepLeases();
  setInterval(() => {
    if (page.session?.left && !page.session.current) render();
  }, 1_000);
}

/** Renews leases three times per lease period while the page is visible. */
function keepLeases() {
  let beaten = Date.now();
  setInterval(() => {
    const life = page.session?.items[0]?.lease_seconds ?? 60;
    if (document.hidden || Date.now() - beaten < (life * 1000) / 3) return;
    beaten = Date.now();
    page.session?.heartbeat();
  }, 500);
}

start();
