/** The strip of the last ten answers, newest first; a click shows the item again. */

import { byId, foreign, make } from "./dom.js";
import { verdictName } from "./choices.js";
import { STRIP } from "./session.js";

const STATES = { waiting: "not saved yet", late: "came late, kept", refused: "refused" };

let before = "";

export function showStrip(session, onPick) {
  const shown = session.given.slice(0, STRIP);
  const now = JSON.stringify(shown.map((given) => [given.key, given.answer, given.ask, given.state, session.again === given]));
  if (now === before) return;
  before = now;
  byId("strip").hidden = shown.length === 0;
  const list = byId("strip-list");
  const focused = [...list.children].findIndex((row) => row.contains(document.activeElement));
  list.replaceChildren(...shown.map((given) => make("li", {}, chip(given, session.again === given, onPick))));
  if (focused >= 0) (list.children[Math.min(focused, shown.length - 1)]?.firstChild ?? byId("stage")).focus({ preventScroll: true });
}

function chip(given, current, onPick) {
  const state = STATES[given.state];
  return make("button", {
    class: `chip ${given.state}`, type: "button", "aria-current": current ? "true" : null,
    title: `Change the answer to: ${given.preview}`, onclick: () => onPick(given),
  },
  make("span", { class: "chip-label" }, verdictName(given.verdict)),
  make("span", { class: "chip-text" }, foreign(given.preview)),
  state ? make("span", { class: "unseen", text: `(${state})` }) : null);
}
