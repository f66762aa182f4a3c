/** The label buttons with their keys, and a search field if there are many. */

import { byId, foreign, make } from "./dom.js";
import { keyName } from "./keys.js";

const FILTER_FROM = 13;

export const keycaps = (keys) => keys.map((key) => make("kbd", { class: "key", text: keyName(key) }));

/** Builds the buttons once; a click calls `onLabel(label, byPointer)`. */
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

function wireFilter(labels, onLabel) {
  const filter = byId("filter");
  const matching = () => labels.filter((label) => label.toLowerCase().includes(filter.value.trim().toLowerCase()));
  filter.oninput = () => {
    const shown = new Set(matching());
    for (const button of byId("choices").children) button.hidden = !shown.has(labels[button.dataset.index]);
  };
  filter.onkeydown = (event) => {
    if (event.key === "Escape") {
      clearFilter();
      byId("stage").focus({ preventScroll: true });
    }
    const found = matching();
    const exact = found.find((label) => label.toLowerCase() === filter.value.trim().toLowerCase());
    if (event.key !== "Enter" || event.repeat || filter.value.trim() === "") return;
    event.preventDefault();
    if (exact || found.length === 1) onLabel(exact ?? found[0], false);
  };
}

export function clearFilter() {
  byId("filter").value = "";
  for (const button of byId("choices").children) button.hidden = false;
}

/** Shows the current keys on the buttons. */
export function showKeys(keys) {
  for (const button of byId("choices").children) {
    const action = `label:${button.dataset.index}`;
    button.querySelector(".keys").replaceChildren(...keycaps(keys.of(action)));
    shortcuts(button, keys.aria(action));
  }
  for (const [id, name] of [["skip", "Skip"], ["unsure", "Unsure"], ["undo", "Undo"]]) {
    const button = byId(id);
    button.replaceChildren(name, make("span", { class: "keys", "aria-hidden": "true" }, ...keycaps(keys.of(id))));
    shortcuts(button, keys.aria(id));
  }
}

function shortcuts(button, keys) {
  if (keys) button.setAttribute("aria-keyshortcuts", keys);
  else button.removeAttribute("aria-keyshortcuts");
}

/** Briefly highlights the button whose key was pressed. */
export function flash(element) {
  element.classList.remove("pressed");
  void element.offsetWidth;
  element.classList.add("pressed");
}

/** Marks the label of the answer that is being reviewed. */
export function markChosen(labels, verdict) {
  for (const button of byId("choices").children) {
    const chosen = verdict?.label !== undefined && labels[button.dataset.index] === verdict.label;
    if (verdict) button.setAttribute("aria-pressed", String(chosen));
    else button.removeAttribute("aria-pressed");
  }
}

export const verdictName = (verdict) => {
  if (verdict.skip) return make("em", { text: "skipped" });
  return verdict.unsure ? make("em", { text: "unsure" }) : foreign(String(verdict.label));
};
