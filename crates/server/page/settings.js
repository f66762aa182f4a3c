/** The settings dialog: key bindings, single keys on or off, the reason shown or not, the font size. */

import { byId, foreign, make } from "./dom.js";
import { keycaps } from "./choices.js";

/** Creates the head of a dialog: its title and a button that closes it. */
export function closing(dialog, id, title) {
  return [make("div", { class: "sheet-head" },
    make("h2", { id, text: title }),
    make("button", { class: "quiet", type: "button", text: "Close", onclick: () => dialog.close() }))];
}

/** Opens the dialog. `page` has keys, preferences {why, marks, size} and onChange(). */
export function openSettings(page) {
  const dialog = byId("settings");
  fill(dialog, page);
  if (!dialog.open) dialog.showModal();
}

function fill(dialog, page) {
  dialog.replaceChildren(
    ...closing(dialog, "settings-title", "Keys and settings"),
    table(dialog, page),
    make("p", { id: "key-message", class: "muted", role: "status", text: page.keys.enabled ? "Also: Ctrl-Z undoes, Esc leaves, ? shows this." : "Single keys are off. Ctrl-Z still undoes." }),
    make("p", {}, make("button", { class: "linklike", type: "button", text: "Back to the first keys", onclick: () => again(dialog, page, () => page.keys.reset()) })),
    switchOf("Single keys answer", page.keys.enabled, (on) => again(dialog, page, () => page.keys.enable(on), "keys-on"), "keys-on"),
    switchOf("Show why an item is asked, and the model's guess", page.preferences.why, (on) => again(dialog, page, () => page.prefer({ why: on }), "why-on"), "why-on"),
    switchOf("Show spaces and invisible characters", page.preferences.marks, (on) => again(dialog, page, () => page.prefer({ marks: on }), "marks-on"), "marks-on"),
    sizes(dialog, page),
  );
}

/** Applies a change and redraws the dialog; keeps the focus. */
function again(dialog, page, change, focus = null) {
  change();
  page.onChange();
  fill(dialog, page);
  if (focus) byId(focus)?.focus();
}

function table(dialog, page) {
  const rows = page.keys.actions.map(({ action, name, digit, key }) => make("tr", {},
    make("th", { scope: "row" }, foreign(name)),
    make("td", { class: page.keys.enabled ? "" : "off" }, ...keycaps([digit, key].filter((each) => each !== null))),
    make("td", {}, make("button", { class: "quiet bordered", type: "button", "aria-label": `Change the key for ${name}`, text: "Change", onclick: (event) => listen(event.currentTarget, dialog, page, action) }))));
  return make("div", { class: "key-table" }, make("table", {},
    make("caption", { class: "unseen", text: "Keys" }),
    make("thead", { class: "unseen" }, make("tr", {}, ...["Answer", "Keys", "Change"].map((text) => make("th", { scope: "col", text })))),
    make("tbody", {}, ...rows)));
}

/** Waits for a key press and assigns that key to the action. */
function listen(button, dialog, page, action) {
  button.textContent = "Press a key";
  const heard = (event) => {
    if (event.key === "Tab" || event.key === "Shift") return;
    event.preventDefault();
    event.stopPropagation();
    const problem = event.key === "Escape" ? null : page.keys.assign(action, event.key);
    stop();
    page.onChange();
    fill(dialog, page);
    if (problem) byId("key-message").textContent = problem;
    const place = page.keys.actions.findIndex((entry) => entry.action === action);
    dialog.querySelectorAll("tbody button")[place].focus();
  };
  const stop = () => {
    button.removeEventListener("keydown", heard);
    button.removeEventListener("blur", stop);
    button.textContent = "Change";
  };
  button.addEventListener("keydown", heard);
  button.addEventListener("blur", stop);
}

function switchOf(text, on, change, id) {
  const box = make("input", { type: "checkbox", id, checked: on });
  box.addEventListener("change", () => change(box.checked));
  return make("p", { class: "switch" }, box, make("label", { for: id, text }));
}

function sizes(dialog, page) {
  const select = make("select", { id: "size" }, ...[["1", "Normal"], ["1.25", "Large"], ["1.5", "Larger"]].map(([value, text]) =>
    make("option", { value, text, selected: page.preferences.size === value })));
  select.addEventListener("change", () => again(dialog, page, () => page.prefer({ size: select.value }), "size"));
  return make("p", { class: "switch" }, make("label", { for: "size", text: "Size of the item's text" }), select);
}
