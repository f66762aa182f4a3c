/** The strip of the last ten answers, newest first; a click shows the item again. */

import { byId, childrenOf, focusOn, foreign, make } from "./dom.js";
import { verdictName } from "./choices.js";
import { STRIP } from "./session.js";

/**
 * @import { Answer } from "./types.d.ts"
 * @import { Session } from "./session.js"
 */

const STATES = { waiting: "not saved yet", late: "late, saved", refused: "rejected", saved: null };

let before = "";

/**
 * @param {Session} session
 * @param {(answer: Answer) => void} onPick
 */
export function showStrip(session, onPick) {
  const shown = session.answers.slice(0, STRIP);
  const now = JSON.stringify(shown.map((answer) => [answer.key, answer.answer, answer.ask, answer.state, session.reviewed === answer]));
  if (now === before) return;
  before = now;
  byId("strip").hidden = shown.length === 0;
  const list = byId("strip-list");
  const focused = childrenOf(list).findIndex((row) => row.contains(document.activeElement));
  list.replaceChildren(...shown.map((answer) => make("li", {}, chip(answer, session.reviewed === answer, onPick))));
  if (focused < 0) return;
  const row = childrenOf(list)[Math.min(focused, shown.length - 1)];
  if (!row || !focusOn(row, "button")) byId("stage").focus({ preventScroll: true });
}

/**
 * @param {Answer} answer
 * @param {boolean} isReviewed
 * @param {(answer: Answer) => void} onPick
 */
function chip(answer, isReviewed, onPick) {
  const state = STATES[answer.state];
  return make("button", {
    class: `chip ${answer.state}`, type: "button", "aria-current": isReviewed ? "true" : null,
    title: `Change the answer to: ${answer.preview}`, onclick: () => onPick(answer),
  },
  make("span", { class: "chip-label" }, verdictName(answer.verdict)),
  make("span", { class: "chip-text" }, foreign(answer.preview)),
  state ? make("span", { class: "unseen", text: `(${state})` }) : null);
}
