/** The learning curve: estimate and interval by number of labels, compared with random sampling. */

import { draw } from "./dom.js";
import { count } from "./words.js";

const WIDTH = 320;
const HEIGHT = 200;
const LEFT = 44;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 40;

/** Returns ticks at multiples of 1, 2 or 5 times a power of ten that divide a range into about `parts` parts. */
export function ticks(low, high, parts) {
  const rough = (high - low) / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999_999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/** Returns the range of values shown: all intervals, at least 10 points wide, and within [0, 1] for shares. */
function range(points, share) {
  const finite = points.flatMap(({ low, high, value }) => [low, high, value]).filter((number) => Number.isFinite(number));
  let low = Math.min(...finite);
  let high = Math.max(...finite);
  const least = share ? 0.1 : Math.max(Math.abs(high) * 0.1, 1e-9);
  if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
  const margin = (high - low) * 0.06;
  return share ? [Math.max(0, low - margin), Math.min(1, high + margin)] : [low - margin, high + margin];
}

/** Draws the learning curve. With `share`, values are shares and are shown as percentages. */
export function learningCurve({ curve, twin, share, description }) {
  const last = twin ? [{ labels: twin.labels, value: twin.accuracy, low: twin.low, high: twin.high }] : [];
  const all = [...curve, ...last];
  const [low, high] = range(all, share);
  const most = Math.max(...all.map(({ labels }) => labels), 1);
  const x = (labels) => LEFT + ((WIDTH - LEFT - RIGHT) * labels) / most;
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - Math.min(high, Math.max(low, value)))) / (high - low);
  return draw("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": description },
    ...valueAxis(low, high, y, share),
    ...labelAxis(most, x),
    band(curve, x, y),
    path(curve, x, y),
    ...last.map((point) => diamond(point, x, y)));
}

function valueAxis(low, high, y, share) {
  const steps = ticks(low, high, 6);
  return steps.flatMap((value) => [
    draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    draw("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end", text: share ? `${Number((value * 100).toPrecision(6))} %` : String(Number(value.toPrecision(4))) }),
  ]);
}

function labelAxis(most, x) {
  const numbers = ticks(0, most, 4).filter((labels) => Number.isInteger(labels)).map((labels) =>
    draw("text", { class: "tick", x: x(labels), y: HEIGHT - 22, "text-anchor": "middle", text: count(labels) }));
  return [...numbers, draw("text", { class: "tick", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 5, "text-anchor": "middle", text: "labels" })];
}

const number = (value) => value.toFixed(1);

function band(curve, x, y) {
  const bounded = curve.filter((point) => Number.isFinite(point.low) && Number.isFinite(point.high));
  const upper = bounded.map((point) => `${number(x(point.labels))},${number(y(point.high))}`);
  const lower = bounded.map((point) => `${number(x(point.labels))},${number(y(point.low))}`).reverse();
  return draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") });
}

function path(curve, x, y) {
  if (curve.length === 1) return draw("circle", { class: "point", r: 3, cx: x(curve[0].labels), cy: y(curve[0].value) });
  return draw("polyline", { class: "line", points: curve.map((point) => `${number(x(point.labels))},${number(y(point.value))}`).join(" ") });
}

/** Draws the estimate of random sampling, with its interval as a whisker. */
function diamond(point, x, y) {
  const [cx, cy] = [x(point.labels), y(point.value)];
  return draw("g", { class: "twin" },
    draw("line", { x1: cx, x2: cx, y1: y(point.low), y2: y(point.high) }),
    draw("path", { d: `M${cx - 5} ${cy}L${cx} ${cy - 5}L${cx + 5} ${cy}L${cx} ${cy + 5}Z` }));
}
