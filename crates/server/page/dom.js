/** Helpers that create elements. Text is set only through textContent; nothing in the page parses markup. */

export const byId = (id) => document.getElementById(id);

/** Creates an element with attributes (`text` and `on…` are special; null and false are skipped) and children. */
export function make(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/** Creates an SVG element in the same way. */
export function draw(tag, attributes = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Wraps text from users in an isolated element, so that its direction cannot reorder the surrounding text. */
export const foreign = (text) => make("bdi", { text });

/** Sets text only if it differs, so that nothing is announced or laid out twice. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let announcing = 0;

/** Announces text to screen readers; of several within 60 ms, only the last is read. */
export function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    byId("announcer").textContent = text;
  }, 60);
}
