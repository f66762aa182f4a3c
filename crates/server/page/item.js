/** The displayed item: texts, pictures, a table of the other fields, and the reason why it is asked. */

import { byId, foreign, make } from "./dom.js";
import { hiddenIn, marked } from "./marks.js";
import { count, many, oneIn } from "./words.js";

/** The number of characters of a text that are shown at first, so that a very long text does not slow the page. */
const SHOWN = 12_000;

/** The font size by length of the text: short texts are shown larger. */
function sizeOf(length) {
  if (length <= 120) return "large";
  return length <= 480 ? "medium" : "small";
}

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

function passage({ name, value }, named, { marks, onMarks }) {
  const text = String(value ?? "");
  const shown = text.length > SHOWN ? text.slice(0, SHOWN) : text;
  const body = make("div", { class: `passage ${sizeOf(text.length)}`, dir: "auto" }, ...(marks ? marked(shown) : [shown]));
  if (text === "") body.append(make("span", { class: "muted", text: "(empty)" }));
  const block = make("div", { class: "passage-block" }, named ? make("h2", { class: "field-name" }, foreign(name)) : null, body);
  if (shown.length < text.length) {
    const more = make("button", {
      class: "linklike", type: "button", text: `Show all ${count(text.length)} characters`,
      onclick: () => {
        body.replaceChildren(...(marks ? marked(text) : [text]));
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

/** Returns the URL of a picture: a data URL or a path in the server's image folder; null for any other URL. */
export function sourceOf(value) {
  const text = String(value ?? "");
  if (/^data:image\//i.test(text)) return text;
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) || text.startsWith("//")) return null;
  if (/^\/images\/[\w.~%/-]+$/.test(text)) return text;
  return `/images/${text.split("/").map((part) => encodeURIComponent(part)).join("/")}`;
}

function picture({ name, value }) {
  const source = sourceOf(value);
  const missing = () => make("p", { class: "muted missing" }, "There is no picture at ", foreign(String(value).slice(0, 200)));
  if (source === null) return missing();
  const image = make("img", { class: "picture", alt: `${name}: the picture to label`, src: source });
  image.addEventListener("error", () => image.replaceWith(missing()));
  return image;
}

function table(fields) {
  const rows = fields.map(({ name, kind, value }) =>
    make("tr", {},
      make("th", { scope: "row" }, foreign(name)),
      make("td", { class: kind, dir: "auto", text: value === null || value === "" ? "–" : String(value) })));
  return make("table", { class: "fields" }, make("caption", { class: "unseen", text: "Fields of this item" }), make("tbody", {}, ...rows));
}

function why(item, { hidden, onToggle }) {
  const toggle = make("button", {
    class: "linklike", type: "button", "aria-expanded": String(!hidden), text: hidden ? "Why this item?" : "Hide", onclick: onToggle,
  });
  if (hidden) return make("p", { class: "why" }, toggle);
  // The last item of a pool is picked with probability 1, which is not shown.
  const isDrawn = item.probability !== null && item.probability < 1;
  const chance = isDrawn ? make("span", { class: "chance", text: `probability of this pick: ${oneIn(item.probability)}` }) : null;
  return make("p", { class: "why" }, make("span", {}, foreign(item.why)), chance, toggle);
}

/** Preloads the pictures of the next items. */
export function preload(items) {
  for (const { fields } of items) {
    for (const { kind, value } of fields) {
      const source = kind === "image" ? sourceOf(value) : null;
      if (source?.startsWith("/")) new Image().src = source;
    }
  }
}
