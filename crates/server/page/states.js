/** The messages shown when there is no item: the reason, and what happens next. */

import { foreign, make } from "./dom.js";
import { count, duration, many } from "./words.js";

const state = (kind, title, ...body) =>
  make("div", { class: "state", "data-state": kind }, make("h2", { text: title }), ...body);

const line = (...content) => make("p", {}, ...content);

const kept = (waiting) => (waiting > 0
  ? `${many(waiting, "answer")} ${waiting === 1 ? "is" : "are"} kept in this browser and sent as soon as possible.`
  : "Nothing is lost: every answer was saved.");

/** Returns the message to show. `now` has session, status, outbox and the actions of the buttons. */
export function emptyState(now) {
  const { session, status, outbox } = now;
  const trouble = session.trouble ?? outbox.trouble;
  if (trouble?.kind === "signed-out") return signedOut(outbox.size);
  if (trouble?.kind === "other-run") return otherRun(outbox.size);
  if (trouble?.kind === "store" || status?.store.writable === false) return readOnly(trouble, status, outbox.size);
  if (trouble?.kind === "refused") return refused(trouble);
  if (trouble) return gone(now);
  if (!session.started || !status) return state("loading", "Fetching items");
  if (session.reason === "finished") return finished(status);
  if (session.reason === "yours-done") return yoursDone(session);
  if (session.reason === "all-leased") return leased(session);
  if (session.reason === "budget") return budget(status);
  return state("loading", "Choosing what to ask next");
}

export function signedOut(waiting) {
  return state("signed-out", "Signed out",
    line("This browser is not known to the server (any more). Open the address that ",
      make("code", { text: "querist label" }), " printed; this page then goes on by itself."),
    line(kept(waiting)));
}

function otherRun(waiting) {
  return state("other-run", "Another ledger is served here now",
    line("This page belongs to the one before."), line(kept(waiting)),
    make("button", { class: "choice solid", type: "button", text: "Open the new one", onclick: () => location.reload() }));
}

export function gone({ outbox, retry }) {
  return state("gone", "The server does not answer",
    line("It may have been stopped, or the network is away. This page keeps trying."),
    line(kept(outbox.size)),
    make("button", { class: "choice solid", type: "button", text: "Try now", onclick: retry }));
}

function readOnly(trouble, status, waiting) {
  const problem = trouble?.message ?? status?.store.problem ?? "";
  return state("read-only", "Answers cannot be saved now",
    line(foreign(problem)), trouble?.hint ? line(foreign(trouble.hint)) : null, line(kept(waiting)));
}

const refused = (trouble) =>
  state("refused", "The server refused the request", line(foreign(trouble.message)), trouble.hint ? line(foreign(trouble.hint)) : null);

function finished(status) {
  return state("finished", "All done",
    line(`Every item is answered: ${count(status.answered)} in all${status.skipped > 0 ? `, ${count(status.skipped)} skipped` : ""}.`),
    line("The labels are in the ledger; ", make("code", { text: "querist export" }), " writes them to a file."));
}

function yoursDone(session) {
  const { answered: own, for_others: others } = session.left;
  return state("yours-done", "Your part is done",
    line(`You have answered everything there is for you: ${many(own, "item")}. Thank you!`),
    line(`${many(others, "item")} still ${others === 1 ? "wants" : "want"} somebody else’s answer. If more is to be done, this page goes on by itself.`));
}

function leased(session) {
  const { leased: held, next_free_seconds: seconds } = session.left;
  const remaining = seconds === null ? null : Math.max(0, seconds - (Date.now() - session.leftAt) / 1000);
  return state("all-leased", "Everything left is with other people",
    line(`${many(held, "item")} ${held === 1 ? "is" : "are"} held by others`,
      remaining === null ? "." : "; the next comes free in ", remaining === null ? null : make("span", { class: "countdown", text: duration(remaining) }),
      remaining === null ? null : " unless it is answered before."),
    line("This page goes on by itself."));
}

function budget(status) {
  return state("budget", "The budget is spent",
    line(`${count(status.answered)} of ${count(status.budget ?? status.answered)} answers are given.`),
    line("Start ", make("code", { text: "querist label" }), " again with a larger ", make("code", { text: "--budget" }), " to go on."));
}

/** Creates the form that asks for the annotator's name. */
export function nameForm(annotators, name, onName) {
  const input = make("input", { id: "name", type: "text", autocomplete: "name", maxlength: 60, required: true, value: name });
  const form = make("form", { class: "state name-form", "data-state": "name" },
    make("h2", { text: "Who is labelling?" }),
    line("Your name goes with your answers, so that nobody is asked the same twice."),
    make("label", { for: "name", text: "Name" }),
    make("div", { class: "name-row" }, input, make("button", { class: "choice solid", type: "submit", text: "Start" })));
  if (annotators.length > 0) form.append(known(annotators, onName));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = input.value.trim();
    if (typed !== "") onName(typed);
  });
  return form;
}

function known(annotators, onName) {
  const buttons = annotators.slice(0, 30).map(({ name, answered }) =>
    make("button", { class: "quiet bordered", type: "button", onclick: () => onName(name) },
      foreign(name), make("span", { class: "muted", text: ` ${count(answered)}` })));
  return make("div", { class: "known", role: "group", "aria-label": "Names so far" }, ...buttons);
}
