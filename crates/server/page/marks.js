/** Marks for invisible parts of a text: characters without a glyph, and significant spaces. */

import { make } from "./dom.js";

/** Characters without a glyph, except joiners inside emoji and variation selectors, which change a glyph. */
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|(?<![\p{Extended_Pictographic}\ufe0f\u{1f3fb}-\u{1f3ff}])\u200d/gu;

/** Significant spaces: tabs, line breaks, repeated and trailing spaces, and all but the plain space. */
const SPACES = /\t|\r?\n|  +| (?=$|\n)|[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/gu;

const SEEN = new RegExp(`${HIDDEN.source}|${SPACES.source}`, "gu");

/** Returns the number of characters without a glyph. */
export const hiddenIn = (text) => text.match(HIDDEN)?.length ?? 0;

const code = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

function sign(found) {
  if (found === "\t") return "→\t";
  if (found.endsWith("\n")) return "↵\n";
  return found.startsWith(" ") ? "·".repeat(found.length) : code(found);
}

/** Splits a text into pieces, with a mark in place of each invisible part. */
export function marked(text) {
  const pieces = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(SEEN)) {
    pieces.push(text.slice(from, index), make("span", { class: "sign", text: sign(found) }));
    from = index + found.length;
  }
  return [...pieces, text.slice(from)];
}
