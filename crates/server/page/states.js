/** The messages shown when there is no item: the reason, and what happens next. */

import { foreign, make } from "./dom.js";
import { waitingText } from "./notices.js";
import { count, duration, many } from "./words.js";

/**
 * @import { Annotator, Child, Left, NoItemReason, Pending, Problem, Status } from "./types.d.ts"
 */

/**
 * @typedef {object} EmptyState
 * @property {{ error: Problem | null, started: boolean, reason: NoItemReason | null, left: Left | null, leftAt: number }} session
 * @property {Status | null} status
 * @property {Pending} outbox
 * @property {() => void} retry
 */

/**
 * @param {string} kind
 * @param {string} title
 * @param {...Child} body
 */
export const state = (kind, title, ...body) =>
  make("div", { class: "state", "data-state": kind }, make("h2", { text: title }), ...body);

/** @param {...Child} content */
const line = (...content) => make("p", {}, ...content);

/** @param {string} text */
const code = (text) => make("code", { text });

/**
 * @param {string} text
 * @param {() => void} onclick
 */
const button = (text, onclick) => make("button", { class: "choice solid", type: "button", text, onclick });

/**
 * Returns the message to show.
 * @param {EmptyState} now
 */
export function emptyState({ session, status, outbox, retry }) {
  const error = session.error ?? outbox.error;
  if (error?.kind === "signed-out") return signedOut(outbox.size);
  if (error?.kind === "other-run") return otherRun(outbox.size);
  if (error?.kind === "store" || status?.store.writable === false) return readOnly(error, status, outbox.size);
  if (error?.kind === "refused") return rejected(error);
  if (error) return unreachable(outbox.size, retry);
  if (!session.started || !status) return state("loading", "Loading items");
  if (session.reason === "finished") return finished(status);
  if (session.reason === "yours-done" && session.left) return yoursDone(session.left);
  if (session.reason === "all-leased" && session.left) return leased(session.left, session.leftAt);
  if (session.reason === "budget") return budget(status);
  return state("loading", "Choosing the next item");
}

/** @param {number} waiting */
export function signedOut(waiting) {
  return state("signed-out", "You are signed out",
    line("Open the link that ", code("querist label"), " printed, or ask for a new one. This page then continues."),
    line(waitingText(waiting)));
}

/** @param {number} waiting */
function otherRun(waiting) {
  return state("other-run", "This address now serves another session",
    line("This page belongs to the earlier session."), line(waitingText(waiting)),
    button("Open the new session", () => location.reload()));
}

/**
 * @param {number} waiting
 * @param {() => void} retry
 */
export function unreachable(waiting, retry) {
  return state("unreachable", "Can't reach the server",
    line("You may be offline, or the server was stopped. This page keeps trying."),
    line(waitingText(waiting)),
    button("Try now", retry));
}

/**
 * @param {Problem | null} error
 * @param {Status | null} status
 * @param {number} waiting
 */
function readOnly(error, status, waiting) {
  const problem = error?.message ?? status?.store.problem ?? "";
  return state("read-only", "Answers can't be saved right now",
    line(foreign(problem)), error?.hint ? line(foreign(error.hint)) : null, line(waitingText(waiting)));
}

/** @param {Problem} error */
const rejected = (error) =>
  state("refused", "The server rejected the request", line(foreign(error.message)), error.hint ? line(foreign(error.hint)) : null);

/** @param {Status} status */
function finished(status) {
  return state("finished", "All done",
    line(`No items are left: ${many(status.answered, "answer")} saved${status.skipped > 0 ? `, ${count(status.skipped)} skipped` : ""}.`),
    line(code("querist export"), " writes the labels to a file."));
}

/** @param {Left} left */
function yoursDone({ answered, for_others: others }) {
  return state("yours-done", "Your part is done",
    line(`You have answered all items that you can answer: ${many(answered, "item")}. Thank you!`),
    line(`${many(others, "item")} still ${others === 1 ? "needs" : "need"} an answer from someone else. This page continues if there is more for you.`));
}

/**
 * @param {Left} left
 * @param {number} leftAt
 */
function leased({ leased: held, next_free_seconds: seconds }, leftAt) {
  const remaining = seconds === null ? null : Math.max(0, seconds - (Date.now() - leftAt) / 1000);
  return state("all-leased", "Other annotators have the remaining items",
    line(`${many(held, "item")} ${held === 1 ? "is" : "are"} assigned to others. `,
      ...(remaining === null ? [] : ["Unless it is answered first, the next one is free in ", make("span", { class: "countdown", text: duration(remaining) }), "."])),
    line("This page continues by itself."));
}

/** @param {Status} status */
function budget(status) {
  return state("budget", "The budget is used up",
    line(`${count(status.answered)} of ${many(status.budget ?? status.answered, "answer")} saved.`),
    line("To continue, start ", code("querist label"), " again with a larger ", code("--budget"), "."));
}

/**
 * Creates the form that asks for the annotator's name.
 * @param {Annotator[]} annotators
 * @param {string} name
 * @param {(name: string) => void} onName
 */
export function nameForm(annotators, name, onName) {
  const input = make("input", { id: "name", type: "text", autocomplete: "name", maxlength: 60, required: true, value: name });
  const form = make("form", { class: "state name-form", "data-state": "name" },
    make("h2", { text: "Who is labeling?" }),
    line("Your name is stored with your answers, so that you are not asked about the same item twice."),
    make("label", { for: "name", text: "Name" }),
    make("div", { class: "name-row" }, input, make("button", { class: "choice solid", type: "submit", text: "Start" })));
  if (annotators.length > 0) form.append(earlierNames(annotators, onName));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = input.value.trim();
    if (typed !== "") onName(typed);
  });
  return form;
}

/**
 * @param {Annotator[]} annotators
 * @param {(name: string) => void} onName
 */
function earlierNames(annotators, onName) {
  const buttons = annotators.slice(0, 30).map(({ name, answered }) =>
    make("button", { class: "quiet bordered", type: "button", onclick: () => onName(name) },
      foreign(name), make("span", { class: "muted", text: ` ${count(answered)}` })));
  return make("div", { class: "known", role: "group", "aria-label": "Earlier names" }, ...buttons);
}
