/** The displayed item: texts, pictures, a table of the other fields, and the reason why it was picked. */

import { byId, foreign, make } from "./dom.js";
import { hiddenIn, marked } from "./marks.js";
import { sourceOf } from "./pictures.js";
import { count, many, oneIn } from "./words.js";

/** @import { Field, Item } from "./types.d.ts" */

/**
 * @typedef {object} ItemOptions
 * @property {boolean} hidden Hides the reason.
 * @property {() => void} onToggle
 * @property {boolean} marks Shows marks for invisible characters.
 * @property {() => void} onMarks
 */

/** The number of characters of a text that are shown at first, so that a very long text does not slow the page. */
const SHOWN_CHARACTERS = 12_000;

/**
 * Returns the font size by length of the text: short texts are shown larger.
 * @param {number} length
 */
function sizeOf(length) {
  if (length <= 120) return "large";
  return length <= 480 ? "medium" : "small";
}

/**
 * @param {HTMLElement} stage
 * @param {Item} item
 * @param {ItemOptions} options
 */
export function showItem(stage, item, options) {
  const texts = item.fields.filter(({ kind }) => kind === "text");
  const images = item.fields.filter(({ kind }) => kind === "image");
  const others = item.fields.filter(({ kind }) => kind !== "text" && kind !== "image");
  const named = texts.length > 1 || others.length > 0;
  stage.replaceChildren(
    make("div", { class: named ? "item named" : "item" },
      ...images.map((field) => picture(field)),
      ...texts.map((field) => passage(field, named, options)),
      others.length > 0 ? table(others) : null,
    ),
    why(item, options),
  );
}

/**
 * Returns a text as nodes, with marks on demand.
 * @param {string} text
 * @param {boolean} marks
 */
const nodesOf = (text, marks) =>
  (marks ? marked(text).map((piece) => (piece.isMark ? make("span", { class: "sign", text: piece.text }) : piece.text)) : [text]);

/**
 * @param {Field} field
 * @param {boolean} named
 * @param {ItemOptions} options
 */
function passage({ name, value }, named, { marks, onMarks }) {
  const text = String(value ?? "");
  const shown = text.length > SHOWN_CHARACTERS ? text.slice(0, SHOWN_CHARACTERS) : text;
  const body = make("div", { class: `passage ${sizeOf(text.length)}`, dir: "auto" }, ...nodesOf(shown, marks));
  if (text === "") body.append(make("span", { class: "muted", text: "(empty)" }));
  const block = make("div", { class: "passage-block" }, named ? make("h2", { class: "field-name" }, foreign(name)) : null, body);
  if (shown.length < text.length) {
    const more = make("button", {
      class: "linklike", type: "button", text: `Show all ${count(text.length)} characters`,
      onclick: () => {
        body.replaceChildren(...nodesOf(text, marks));
        more.remove();
        byId("stage").focus({ preventScroll: true });
      },
    });
    block.append(more);
  }
  const hidden = hiddenIn(text);
  if (hidden > 0) {
    block.append(make("p", { class: "hidden-signs muted" }, `${many(hidden, "invisible character")} in this text `,
      make("button", { class: "linklike", type: "button", text: marks ? "Hide" : "Show", onclick: onMarks })));
  }
  return block;
}

/** @param {Field} field */
function picture({ name, value }) {
  const source = sourceOf(value);
  const missing = () => make("p", { class: "muted missing" }, "Can't show the picture ", foreign(String(value).slice(0, 200)));
  if (source === null) return missing();
  const image = make("img", { class: "picture", alt: `${name}: the picture to label`, src: source });
  image.addEventListener("error", () => image.replaceWith(missing()));
  return image;
}

/** @param {Field[]} fields */
function table(fields) {
  const rows = fields.map(({ name, kind, value }) =>
    make("tr", {},
      make("th", { scope: "row" }, foreign(name)),
      make("td", { class: kind, dir: "auto", text: value === null || value === "" ? "–" : String(value) })));
  return make("table", { class: "fields" }, make("caption", { class: "unseen", text: "Fields of this item" }), make("tbody", {}, ...rows));
}

/**
 * @param {Item} item
 * @param {ItemOptions} options
 */
function why(item, { hidden, onToggle }) {
  const toggle = make("button", {
    class: "linklike", type: "button", "aria-expanded": String(!hidden), text: hidden ? "Why this item?" : "Hide", onclick: onToggle,
  });
  if (hidden) return make("p", { class: "why" }, toggle);
  // The last item of a pool is picked with probability 1, which is not shown.
  const { probability } = item;
  const shownProbability = probability !== null && probability < 1 ? make("span", { class: "probability", text: `probability of this pick: ${oneIn(probability)}` }) : null;
  return make("p", { class: "why" }, make("span", {}, foreign(item.why)), shownProbability, toggle);
}

/**
 * Preloads the pictures of the next items.
 * @param {Item[]} items
 */
export function preload(items) {
  for (const { fields } of items) {
    for (const { kind, value } of fields) {
      const source = kind === "image" ? sourceOf(value) : null;
      if (source?.startsWith("/")) new Image().src = source;
    }
  }
}
