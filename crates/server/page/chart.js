/** The learning curve: estimate and interval by number of labels, compared with random sampling. */

import { draw } from "./dom.js";
import { ticks, valueRange } from "./scale.js";
import { count } from "./words.js";

/** @import { CurvePoint, Twin } from "./types.d.ts" */

/** @typedef {(value: number) => number} Scale */

/** @typedef {{ labels: number, value: number, low: number | null, high: number | null }} Point */

const WIDTH = 320;
const HEIGHT = 200;
const LEFT = 44;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 40;

/**
 * Returns the points that have a value; null marks a number that is not finite.
 * @param {CurvePoint[]} points
 * @returns {Point[]}
 */
const drawable = (points) => points.flatMap(({ value, ...rest }) => (value === null ? [] : [{ ...rest, value }]));

/**
 * Draws the learning curve. With `share`, values are shares and are shown as percentages.
 * @param {{ curve: CurvePoint[], twin: Twin | null, share: boolean, description: string }} options
 */
export function learningCurve({ curve, twin, share, description }) {
  const points = drawable(curve);
  const last = drawable(twin ? [{ labels: twin.labels, value: twin.accuracy, low: twin.low, high: twin.high }] : []);
  const all = [...points, ...last];
  const [low, high] = valueRange(all, share);
  const most = Math.max(...all.map(({ labels }) => labels), 1);
  /** @type {Scale} */
  const x = (labels) => LEFT + ((WIDTH - LEFT - RIGHT) * labels) / most;
  /** @type {Scale} */
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - Math.min(high, Math.max(low, value)))) / (high - low);
  return draw("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": description },
    ...valueAxis(low, high, y, share),
    ...labelAxis(most, x),
    band(points, x, y),
    path(points, x, y),
    ...last.map((point) => diamond(point, x, y)));
}

/**
 * @param {number} low
 * @param {number} high
 * @param {Scale} y
 * @param {boolean} share
 */
function valueAxis(low, high, y, share) {
  const steps = ticks(low, high, 6);
  return steps.flatMap((value) => [
    draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    draw("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end", text: share ? `${Number((value * 100).toPrecision(6))} %` : String(Number(value.toPrecision(4))) }),
  ]);
}

/**
 * @param {number} most
 * @param {Scale} x
 */
function labelAxis(most, x) {
  const numbers = ticks(0, most, 4).filter((labels) => Number.isInteger(labels)).map((labels) =>
    draw("text", { class: "tick", x: x(labels), y: HEIGHT - 22, "text-anchor": "middle", text: count(labels) }));
  return [...numbers, draw("text", { class: "tick", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 5, "text-anchor": "middle", text: "labels" })];
}

/**
 * @param {number} x
 * @param {number} y
 */
const pair = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;

/**
 * Draws the intervals as a band, from the points that have both bounds.
 * @param {Point[]} points
 * @param {Scale} x
 * @param {Scale} y
 */
function band(points, x, y) {
  const bounded = points.flatMap(({ labels, low, high }) => (low === null || high === null ? [] : [{ labels, low, high }]));
  const upper = bounded.map(({ labels, high }) => pair(x(labels), y(high)));
  const lower = bounded.map(({ labels, low }) => pair(x(labels), y(low))).reverse();
  return draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") });
}

/**
 * Draws the estimates as a line, or as a point if there is only one.
 * @param {Point[]} points
 * @param {Scale} x
 * @param {Scale} y
 */
function path(points, x, y) {
  const [first] = points;
  if (first && points.length === 1) return draw("circle", { class: "point", r: 3, cx: x(first.labels), cy: y(first.value) });
  return draw("polyline", { class: "line", points: points.map(({ labels, value }) => pair(x(labels), y(value))).join(" ") });
}

/**
 * Draws the estimate of random sampling, with its interval as a whisker.
 * @param {Point} point
 * @param {Scale} x
 * @param {Scale} y
 */
function diamond({ labels, value, low, high }, x, y) {
  const [cx, cy] = [x(labels), y(value)];
  const whisker = low === null || high === null ? null : draw("line", { x1: cx, x2: cx, y1: y(low), y2: y(high) });
  return draw("g", { class: "twin" }, whisker, draw("path", { d: `M${cx - 5} ${cy}L${cx} ${cy - 5}L${cx + 5} ${cy}L${cx} ${cy + 5}Z` }));
}
