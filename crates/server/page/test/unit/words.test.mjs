// Numbers and texts as people read and type them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { beginning, count, digits, duration, many, oneIn, parseNumber, percent, sentence } from "../../words.js";

test("a percentage is 0 % or 100 % only if it is exact", () => {
  const cases = [[0, "0 %"], [1, "100 %"], [0.9999, "> 99.9 %"], [0.0001, "< 0.1 %"], [0.5, "50 %"], [0.926, "92.6 %"], [null, "–"]];
  for (const [share, text] of cases) assert.equal(percent(share), text);
});

test("a probability is shown as 1 in N", () => {
  const cases = [[0.0028, "1 in 360"], [0.00018, "1 in 5,600"], [0.42, "1 in 2.4"], [0.1, "1 in 10"], [1e-9, "1 in 1,000,000,000"]];
  for (const [probability, text] of cases) assert.equal(oneIn(probability), text);
});

test("a count has its noun in the right number", () => {
  assert.equal(many(0, "answer"), "0 answers");
  assert.equal(many(1, "answer"), "1 answer");
  assert.equal(many(12_345, "answer"), "12,345 answers");
  assert.equal(count(1e6), "1,000,000");
});

test("a duration rounds up seconds and has at most two units", () => {
  const cases = [[-3, "0 s"], [0.2, "1 s"], [89, "89 s"], [90, "2 min"], [3600, "60 min"], [5400, "1 h 30 min"], [7200, "2 h"]];
  for (const [seconds, text] of cases) assert.equal(duration(seconds), text);
});

test("three significant digits, without trailing zeros", () => {
  assert.equal(digits(0.123456), "0.123");
  assert.equal(digits(12.0), "12");
  assert.equal(digits(null), "–");
});

test("the beginning of a text is one line and never splits a character", () => {
  assert.equal(beginning("  two \n lines\t"), "two lines");
  assert.equal(beginning("👩‍🚀".repeat(50), 4).isWellFormed(), true);
  assert.equal(Array.from(beginning("x".repeat(1000), 60)).length, 61);
  assert.equal(beginning(""), "");
});

test("typed numbers: decimal points, signs, exponents; nothing else", () => {
  const good = [["3.5", 3.5], [" -2.5e1 ", -25], ["−7", -7], ["+.5", 0.5], ["5.", 5], ["0", 0]];
  for (const [typed, value] of good) assert.equal(parseNumber(typed), value);
  for (const typed of ["", " ", "3,5", "1e999", "0x10", "Infinity", "NaN", "1 2", "--1", ".", "e5", "12a"]) assert.equal(parseNumber(typed), null, typed);
});

test("a message of the server ends with one period", () => {
  assert.equal(sentence("the disk is full"), "the disk is full.");
  assert.equal(sentence("The disk is full. "), "The disk is full.");
  assert.equal(sentence("Why?"), "Why?");
});
