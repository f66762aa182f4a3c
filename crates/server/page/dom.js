/** Helpers that create elements. Text is set only through textContent; nothing in the page parses markup. */

/** @import { Attributes, Child } from "./types.d.ts" */

/**
 * Returns the element with an id. Throws if there is none, or if it is not of the expected class.
 * @template {HTMLElement} T
 * @overload
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
/**
 * @overload
 * @param {string} id
 * @returns {HTMLElement}
 */
/**
 * @param {string} id
 * @param {new () => HTMLElement} type
 */
export function byId(id, type = HTMLElement) {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new Error(`There is no ${type.name} with the id ${id}.`);
  return element;
}

/**
 * Returns the children of an element that are HTML elements.
 * @param {Element} element
 */
export const childrenOf = (element) => [...element.children].filter((child) => child instanceof HTMLElement);

/**
 * Moves the focus to the first descendant that matches a selector, if there is one. Returns whether there is.
 * @param {ParentNode} parent
 * @param {string} selector
 */
export function focusOn(parent, selector) {
  const found = parent.querySelector(selector);
  if (!(found instanceof HTMLElement)) return false;
  found.focus({ preventScroll: true });
  return true;
}

/**
 * Creates an element with attributes (`text` and `on…` are special; null and false are skipped) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Creates an SVG element in the same way.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {...Child} children
 */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/**
 * @template {Element} T
 * @param {T} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), (event) => value(/** @type {MouseEvent} */ (event)));
    else if (name === "text") element.textContent = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * Wraps text from users in an isolated element, so that its direction cannot reorder the surrounding text.
 * @param {string} text
 */
export const foreign = (text) => make("bdi", { text });

/**
 * Sets text only if it differs, so that nothing is announced or laid out twice.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let announcing = 0;

/**
 * Announces text to screen readers; of several within 60 ms, only the last is read.
 * @param {string} text
 */
export function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    byId("announcer").textContent = text;
  }, 60);
}
