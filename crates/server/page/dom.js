/** Making elements. Text goes in by textContent only; nothing here or elsewhere parses markup. */

export const byId = (id) => document.getElementById(id);

/** An element with attributes (`text` and `on…` are special; null and false leave one out) and children. */
export function make(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
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

/** Foreign text in the middle of ours: isolated, so that its direction cannot reorder what stands around it. */
export const foreign = (text) => make("bdi", { text });

/** Sets text only where it differs, so that nothing is announced or laid out twice. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let announcing = 0;

/** Says something to a screen reader; the last of several in a moment is the one that is read. */
export function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    byId("announcer").textContent = text;
  }, 60);
}
