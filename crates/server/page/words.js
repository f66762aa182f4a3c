/** Numbers, times and texts formatted for people. */

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (n) => grouped.format(n);

/** Formats a count with its noun: "1 answer", "2 answers". */
export const many = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

/** Formats a share as a percentage with one decimal; "100 %" and "0 %" only if exact. */
export function percent(share) {
  const rounded = (share * 100).toFixed(1);
  if (rounded === "100.0" && share < 1) return "> 99.9 %";
  if (rounded === "0.0" && share > 0) return "< 0.1 %";
  return `${rounded.replace(/\.0$/, "")} %`;
}

/** Formats a number with three significant digits. */
export const digits = (value) => String(Number(value.toPrecision(3)));

/** Formats a probability as "1 in 360", with two significant digits. */
export function oneIn(p) {
  const items = Number((1 / p).toPrecision(2));
  return `1 in ${items < 10 ? items : count(items)}`;
}

/** Formats a duration as "40 s", "12 min" or "3 h 20 min". */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.ceil(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** Returns the beginning of a text on one line, without splitting a character. */
export function beginning(text, length = 60) {
  const head = text.slice(0, length * 4).replace(/\s+/gu, " ").trim();
  const characters = Array.from(head);
  return characters.length <= length && text.length <= length * 4 ? head : `${characters.slice(0, length).join("")}…`;
}
