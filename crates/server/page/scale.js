/** The scales of the learning curve: the range of values, and the ticks of an axis. */

/** @import { CurvePoint } from "./types.d.ts" */

/**
 * Returns ticks at multiples of 1, 2 or 5 times a power of ten that divide a range into at most `parts` parts.
 * @param {number} low
 * @param {number} high
 * @param {number} parts
 */
export function ticks(low, high, parts) {
  const rough = (high - low) / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5].find((each) => each * power >= rough * 0.999_999) ?? 10;
  const step = power * factor;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/**
 * Returns the range of values to show. It contains all finite values and bounds, is at least 10 points wide for shares, and
 * is within [0, 1] for shares.
 * @param {CurvePoint[]} points
 * @param {boolean} share
 * @returns {[number, number]}
 */
export function valueRange(points, share) {
  const finite = points.flatMap(({ low, high, value }) => [low, high, value]).filter((each) => each !== null);
  let low = Math.min(...finite);
  let high = Math.max(...finite);
  if (finite.length === 0) [low, high] = [0, 1];
  const least = share ? 0.1 : Math.max(Math.abs(high) * 0.1, 1e-9);
  if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
  const margin = (high - low) * 0.06;
  return share ? [Math.max(0, low - margin), Math.min(1, high + margin)] : [low - margin, high + margin];
}
