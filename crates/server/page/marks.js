/** Marks for invisible parts of a text: characters without a glyph, and significant spaces. */

/* eslint-disable no-control-regex, no-misleading-character-class -- the classes list single code points, control characters among them */

/** Characters without a glyph, except joiners inside emoji and variation selectors, which change a glyph. */
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|(?<![\p{Extended_Pictographic}\ufe0f\u{1f3fb}-\u{1f3ff}])\u200d/gu;

/** Significant spaces: tabs, line breaks, repeated and trailing spaces, and all but the plain space. */
const SPACES = /\t|\r?\n|  +| (?=$|\n)|[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/gu;

const SEEN = new RegExp(`${HIDDEN.source}|${SPACES.source}`, "gu");

/* eslint-enable no-control-regex, no-misleading-character-class */

/**
 * Returns the number of characters without a glyph.
 * @param {string} text
 */
export const hiddenIn = (text) => text.match(HIDDEN)?.length ?? 0;

/** @param {string} character */
const code = (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** @param {string} found */
function sign(found) {
  if (found === "\t") return "→\t";
  if (found.endsWith("\n")) return "↵\n";
  return found.startsWith(" ") ? "·".repeat(found.length) : code(found);
}

/**
 * Splits a text into pieces. A mark is in place of each invisible part.
 * @param {string} text
 */
export function marked(text) {
  const pieces = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(SEEN)) {
    if (index > from) pieces.push({ text: text.slice(from, index), isMark: false });
    pieces.push({ text: sign(found), isMark: true });
    from = index + found.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isMark: false });
  return pieces;
}
