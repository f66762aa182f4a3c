/** The settings dialog: key bindings, single keys on or off, the reason shown or not, the font size. */

import { byId, foreign, make } from "./dom.js";
import { keycaps } from "./choices.js";

/**
 * @import { Preferences } from "./types.d.ts"
 * @import { Keys } from "./keys.js"
 */

/**
 * @typedef {object} SettingsPage
 * @property {Keys} keys
 * @property {Preferences} preferences
 * @property {(change: Partial<Preferences>) => void} prefer
 * @property {() => void} onChange
 */

/**
 * Creates the head of a dialog: its title and a button that closes it.
 * @param {HTMLDialogElement} dialog
 * @param {string} id
 * @param {string} title
 */
export function dialogHead(dialog, id, title) {
  return make("div", { class: "sheet-head" },
    make("h2", { id, text: title }),
    make("button", { class: "quiet", type: "button", text: "Close", onclick: () => dialog.close() }));
}

/** @param {SettingsPage} page */
export function openSettings(page) {
  const dialog = byId("settings", HTMLDialogElement);
  fill(dialog, page);
  if (!dialog.open) dialog.showModal();
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {SettingsPage} page
 */
function fill(dialog, page) {
  const { keys, preferences } = page;
  /** @type {(change: () => void, focus?: string) => void} */
  const apply = (change, focus) => redraw(dialog, page, change, focus);
  dialog.replaceChildren(
    dialogHead(dialog, "settings-title", "Keys and settings"),
    table(dialog, page),
    make("p", { id: "key-message", class: "muted", role: "status", text: keys.enabled ? "Ctrl-Z also undoes. Esc closes this dialog, ? opens it." : "Single keys are off. Ctrl-Z still undoes." }),
    make("p", {}, make("button", { class: "linklike", type: "button", text: "Reset all keys", onclick: () => apply(() => keys.reset()) })),
    switchOf("Answer with single keys", keys.enabled, (on) => apply(() => keys.enable(on), "keys-on"), "keys-on"),
    switchOf("Show why an item was picked, and the model’s prediction", preferences.why, (on) => apply(() => page.prefer({ why: on }), "why-on"), "why-on"),
    switchOf("Show spaces and invisible characters", preferences.marks, (on) => apply(() => page.prefer({ marks: on }), "marks-on"), "marks-on"),
    sizes(preferences.size, (size) => apply(() => page.prefer({ size }), "size")),
  );
}

/**
 * Applies a change and redraws the dialog; keeps the focus.
 * @param {HTMLDialogElement} dialog
 * @param {SettingsPage} page
 * @param {() => void} change
 * @param {string} [focus]
 */
function redraw(dialog, page, change, focus) {
  change();
  page.onChange();
  fill(dialog, page);
  if (focus) byId(focus).focus();
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {SettingsPage} page
 */
function table(dialog, page) {
  const rows = page.keys.actions.map(({ action, name, digit, key }) => {
    const change = make("button", { class: "quiet bordered", type: "button", "aria-label": `Change the key for ${name}`, text: "Change" });
    change.addEventListener("click", () => listen(change, dialog, page, action));
    return make("tr", {},
      make("th", { scope: "row" }, foreign(name)),
      make("td", { class: page.keys.enabled ? "" : "off" }, ...keycaps([digit, key].filter((each) => each !== null))),
      make("td", {}, change));
  });
  return make("div", { class: "key-table" }, make("table", {},
    make("caption", { class: "unseen", text: "Keys" }),
    make("thead", { class: "unseen" }, make("tr", {}, ...["Answer", "Keys", "Change"].map((text) => make("th", { scope: "col", text })))),
    make("tbody", {}, ...rows)));
}

/**
 * Waits for a key press and assigns that key to the action.
 * @param {HTMLButtonElement} button
 * @param {HTMLDialogElement} dialog
 * @param {SettingsPage} page
 * @param {string} action
 */
function listen(button, dialog, page, action) {
  button.textContent = "Press a key";
  const heard = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Tab" || event.key === "Shift") return;
    event.preventDefault();
    event.stopPropagation();
    const problem = event.key === "Escape" ? null : page.keys.assign(action, event.key);
    stop();
    page.onChange();
    fill(dialog, page);
    if (problem) byId("key-message").textContent = problem;
    const index = page.keys.actions.findIndex((entry) => entry.action === action);
    const again = dialog.querySelectorAll("tbody button")[index];
    if (again instanceof HTMLElement) again.focus();
  };
  const stop = () => {
    button.removeEventListener("keydown", heard);
    button.removeEventListener("blur", stop);
    button.textContent = "Change";
  };
  button.addEventListener("keydown", heard);
  button.addEventListener("blur", stop);
}

/**
 * @param {string} text
 * @param {boolean} on
 * @param {(on: boolean) => void} change
 * @param {string} id
 */
function switchOf(text, on, change, id) {
  const box = make("input", { type: "checkbox", id, checked: on });
  box.addEventListener("change", () => change(box.checked));
  return make("p", { class: "switch" }, box, make("label", { for: id, text }));
}

/**
 * @param {string} size
 * @param {(size: string) => void} change
 */
function sizes(size, change) {
  const options = Object.entries({ Normal: "1", Large: "1.25", Larger: "1.5" });
  const select = make("select", { id: "size" }, ...options.map(([text, value]) => make("option", { value, text, selected: size === value })));
  select.addEventListener("change", () => change(select.value));
  return make("p", { class: "switch" }, make("label", { for: "size", text: "Text size of items" }), select);
}
