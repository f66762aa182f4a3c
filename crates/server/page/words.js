/** Numbers, times and texts formatted for people, and numbers that people type. */

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @param {number} n */
export const count = (n) => grouped.format(n);

/**
 * Formats a count with its noun: "1 answer", "2 answers".
 * @param {number} n
 * @param {string} one
 * @param {string} more
 */
export const many = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

/**
 * Formats a share as a percentage with one decimal; "100 %" and "0 %" only if exact, and a dash if there is none.
 * @param {number | null} share
 */
export function percent(share) {
  if (share === null) return "–";
  const rounded = (share * 100).toFixed(1);
  if (rounded === "100.0" && share < 1) return "> 99.9 %";
  if (rounded === "0.0" && share > 0) return "< 0.1 %";
  return `${rounded.replace(/\.0$/, "")} %`;
}

/**
 * Formats a number with three significant digits, and a missing one as a dash.
 * @param {number | null} value
 */
export const digits = (value) => (value === null ? "–" : String(Number(value.toPrecision(3))));

/**
 * Formats a probability as "1 in 360", with two significant digits.
 * @param {number} p
 */
export function oneIn(p) {
  const items = Number((1 / p).toPrecision(2));
  return `1 in ${items < 10 ? items : count(items)}`;
}

/**
 * Formats a duration as "40 s", "12 min" or "3 h 20 min".
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.ceil(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/**
 * Returns the beginning of a text on one line, without splitting a character.
 * @param {string} text
 * @param {number} length
 */
export function beginning(text, length = 60) {
  const head = text.slice(0, length * 4).replace(/\s+/gu, " ").trim();
  const characters = Array.from(head);
  return characters.length <= length && text.length <= length * 4 ? head : `${characters.slice(0, length).join("")}…`;
}

/**
 * Ends a message of the server with a period, so that another sentence can follow.
 * @param {string} message
 */
export const sentence = (message) => (/[.!?…]$/u.test(message.trim()) ? message.trim() : `${message.trim()}.`);

/**
 * Parses a typed number with a decimal point, or returns null.
 * @param {string} typed
 */
export function parseNumber(typed) {
  const text = typed.trim().replace("−", "-");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
