/** The label buttons with their keys, and a search field if there are many. */

import { byId, childrenOf, foreign, make } from "./dom.js";
import { chosenBy, matching } from "./filter.js";
import { keyName } from "./keys.js";

/**
 * @import { Verdict } from "./types.d.ts"
 * @import { Keys } from "./keys.js"
 */

/** @typedef {(label: string, byPointer: boolean) => void} OnLabel */

/** The number of labels from which on there is a search field. */
const FILTER_FROM = 13;

/** @param {string[]} keys */
export const keycaps = (keys) => keys.map((key) => make("kbd", { class: "key", text: keyName(key) }));

/**
 * Builds the buttons once; a click calls `onLabel(label, byPointer)`.
 * @param {string[]} labels
 * @param {Keys} keys
 * @param {OnLabel} onLabel
 */
export function buildChoices(labels, keys, onLabel) {
  const group = byId("choices");
  group.replaceChildren(...labels.map((label, index) => {
    const button = make("button", { class: "choice", type: "button", "data-index": index },
      make("span", { class: "choice-name", dir: "auto", text: label }), make("span", { class: "keys", "aria-hidden": "true" }));
    button.addEventListener("click", (event) => onLabel(label, event.detail > 0));
    return button;
  }));
  group.classList.toggle("few", labels.length <= 3);
  byId("filter-row").hidden = labels.length < FILTER_FROM;
  wireFilter(labels, onLabel);
  showKeys(keys);
}

/** Returns the buttons of the labels, in their order. */
export const choiceButtons = () => childrenOf(byId("choices"));

/**
 * @param {string[]} labels
 * @param {OnLabel} onLabel
 */
function wireFilter(labels, onLabel) {
  const filter = byId("filter", HTMLInputElement);
  filter.oninput = () => {
    const shown = new Set(matching(labels, filter.value));
    choiceButtons().forEach((button, index) => {
      button.hidden = !shown.has(labels[index] ?? "");
    });
  };
  filter.onkeydown = (event) => {
    if (event.key === "Escape") {
      clearFilter();
      byId("stage").focus({ preventScroll: true });
    }
    if (event.key !== "Enter" || event.repeat || filter.value.trim() === "") return;
    event.preventDefault();
    const chosen = chosenBy(labels, filter.value);
    if (chosen !== null) onLabel(chosen, false);
  };
}

export function clearFilter() {
  byId("filter", HTMLInputElement).value = "";
  for (const button of choiceButtons()) button.hidden = false;
}

/**
 * Shows the current keys on the buttons.
 * @param {Keys} keys
 */
export function showKeys(keys) {
  choiceButtons().forEach((button, index) => {
    const action = `label:${index}`;
    button.querySelector(".keys")?.replaceChildren(...keycaps(keys.of(action)));
    setShortcuts(button, keys.aria(action));
  });
  for (const [id, name] of Object.entries({ skip: "Skip", unsure: "Unsure", undo: "Undo" })) {
    const button = byId(id);
    button.replaceChildren(name, make("span", { class: "keys", "aria-hidden": "true" }, ...keycaps(keys.of(id))));
    setShortcuts(button, keys.aria(id));
  }
}

/**
 * @param {HTMLElement} button
 * @param {string} keys
 */
function setShortcuts(button, keys) {
  if (keys) button.setAttribute("aria-keyshortcuts", keys);
  else button.removeAttribute("aria-keyshortcuts");
}

/**
 * Briefly highlights the button whose key was pressed.
 * @param {HTMLElement | undefined} button
 */
export function flash(button) {
  if (!button) return;
  button.classList.remove("pressed");
  void button.offsetWidth;
  button.classList.add("pressed");
}

/**
 * Marks the label of the answer that is being reviewed.
 * @param {string[]} labels
 * @param {Verdict | null} verdict
 */
export function markChosen(labels, verdict) {
  choiceButtons().forEach((button, index) => {
    if (verdict) button.setAttribute("aria-pressed", String(verdict.label !== undefined && labels[index] === verdict.label));
    else button.removeAttribute("aria-pressed");
  });
}

/** @param {Verdict} verdict */
export const verdictName = (verdict) => {
  if (verdict.skip) return make("em", { text: "skipped" });
  return verdict.unsure ? make("em", { text: "unsure" }) : foreign(String(verdict.label));
};
