// The scales of the learning curve.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks, valueRange } from "../../scale.js";
import { randomFrom } from "./fake.mjs";

const point = (value, low = value, high = value) => ({ labels: 1, value, low, high });

test("ticks are in the range, evenly spaced, and not too many", () => {
  const random = randomFrom(1);
  for (let round = 0; round < 500; round += 1) {
    const low = (random() - 0.5) * 10 ** Math.floor(random() * 6);
    const high = low + 10 ** (random() * 8 - 4);
    const parts = 2 + Math.floor(random() * 8);
    const found = ticks(low, high, parts);
    const slack = (high - low) * 1e-6;
    assert.ok(found.length <= parts + 1, `${low} ${high} ${parts}`);
    for (const tick of found) assert.ok(tick >= low - slack && tick <= high + slack);
    const [first, second] = found;
    found.forEach((tick, index) => assert.ok(index < 2 || Math.abs(tick - first - index * (second - first)) <= slack + Math.abs(tick) * 1e-9));
  }
});

test("round ranges have round ticks", () => {
  assert.deepEqual(ticks(0, 100, 4), [0, 50, 100]);
  assert.deepEqual(ticks(0, 1, 5).map((tick) => tick.toFixed(1)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
});

test("the range of shares contains all values and is within 0 and 1", () => {
  const [low, high] = valueRange([point(0.9, 0.85, 0.99), point(0.95, null, null)], true);
  assert.ok(low < 0.85 && high > 0.99 && low >= 0 && high <= 1);
  assert.deepEqual(valueRange([point(0, 0, 1)], true), [0, 1]);
});

test("a single value has a range that is wide enough to draw", () => {
  const [low, high] = valueRange([point(0.5)], true);
  assert.ok(high - low >= 0.1);
  const [from, to] = valueRange([point(0)], false);
  assert.ok(to > from);
});

test("points without numbers, or no points, still have a range", () => {
  assert.deepEqual(valueRange([], true), [0, 1]);
  const [low, high] = valueRange([point(null)], false);
  assert.ok(high > low);
});
