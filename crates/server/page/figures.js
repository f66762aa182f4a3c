/** The figures of the progress panel as text. */

import { count, digits, duration, many, percent } from "./words.js";

/** @import { Agreement, Estimate, Score, Status, StopAdvice, Twin } from "./types.d.ts" */

/** @typedef {(value: number | null) => string} Format */

/**
 * Returns the number of answers that would end the work: the budget, or one for each item.
 * @param {Pick<Status, "budget" | "pool" | "overlap">} status
 */
export const goalOf = ({ budget, pool, overlap }) => (budget === null ? pool : Math.min(budget, pool * Math.max(1, overlap)));

/**
 * Formats the goal: "of 5,574 items" or "of a budget of 400".
 * @param {Pick<Status, "budget" | "pool" | "overlap">} status
 */
export const goalText = (status) => (status.budget === null ? `of ${many(goalOf(status), "item")}` : `of a budget of ${count(status.budget)}`);

/**
 * Formats the pace and the remaining time; "" while they are unknown.
 * @param {Pick<Status, "rate_per_minute" | "seconds_left">} status
 */
export function paceText({ rate_per_minute: rate, seconds_left: left }) {
  const pace = rate !== null && rate > 0 ? [`${count(Number(rate.toPrecision(2)))} per minute`] : [];
  return [...pace, ...(left === null ? [] : [`about ${duration(left)} left`])].join(" · ");
}

/**
 * Formats the numbers of skipped and unsure items; "" if there are none.
 * @param {Pick<Status, "skipped" | "unsure">} status
 */
export const asideText = ({ skipped, unsure }) =>
  [skipped > 0 ? `${count(skipped)} skipped` : "", unsure > 0 ? `${count(unsure)} unsure` : ""].filter((each) => each !== "").join(" · ");

/**
 * Returns the format of a task's score: percentages of accuracy, or plain numbers of a loss.
 * @param {Status["task"]} task
 * @returns {Format}
 */
export const formatOf = (task) => (task === "number" ? digits : percent);

/**
 * Returns whether an interval has only a lower end.
 * @param {Pick<Score, "low" | "high">} bounds
 */
const isUnbounded = ({ low, high }) => low !== null && high === null;

/**
 * Formats an interval with one unit: "89.4 to 95.1 %", or "at least 0.16; no upper bound".
 * @param {Pick<Score, "low" | "high">} bounds
 * @param {Format} format
 */
export function interval({ low, high }, format) {
  if (isUnbounded({ low, high })) return `at least ${format(low)}; no upper bound`;
  return `${format(low).replace(/ %$/, "")} to ${format(high)}`;
}

/**
 * Describes the intervals of an estimate.
 * @param {Pick<Estimate, "anytime_low" | "anytime_high">} estimate
 * @param {Format} format
 */
export function intervalNote({ anytime_low: low, anytime_high: high }, format) {
  if (low === null || high === null) return "95 % interval";
  return `95 % interval. Valid even if you check after every label: ${interval({ low, high }, format)}`;
}

/**
 * Formats R² with its interval.
 * @param {Score} score
 */
export function rSquaredText({ value, low, high }) {
  const ends = low === null ? `at most ${digits(high)}; no lower bound` : interval({ low, high }, digits);
  return `R² on all items: ${digits(value)} (${ends})`;
}

/**
 * Formats the mean loss with its interval, and the reason if there is no upper bound.
 * @param {Score} loss
 */
export function lossText(loss) {
  const reason = isUnbounded(loss) ? ", because a few items without a label could have large losses" : "";
  return `Mean loss ${digits(loss.value)} (${interval(loss, digits)}${reason})`;
}

/**
 * Formats the mean of clipped losses where the mean loss has no upper bound; "" elsewhere.
 * @param {Estimate} estimate
 * @param {Status["task"]} task
 */
export function clippedLossText({ low, high, mean_loss, clipped_loss: clipped }, task) {
  const loss = task === "number" ? { low, high } : mean_loss;
  if (!clipped || !loss || !isUnbounded(loss)) return "";
  return `Mean of ${task === "number" ? "squared errors" : "losses"} clipped at ${digits(clipped.limit)}: ${digits(clipped.value)} (${interval(clipped, digits)})`;
}

/**
 * Compares with random sampling: with as many labels, or with fewer while that cannot be extrapolated.
 * @param {Twin} twin
 * @param {Format} format
 */
export function comparison(twin, format) {
  const from = count(twin.labels);
  return twin.at_equal_labels
    ? `With as many random labels you would be at about ${format(twin.at_equal_labels.value)} (${interval(twin.at_equal_labels, format)}), extrapolated from ${from} of these labels.`
    : `With ${from} random labels you would be at about ${format(twin.accuracy)} (${interval(twin, format)}).`;
}

/**
 * Explains why there is no estimate.
 * @param {Pick<Status, "draw" | "model">} status
 */
export function noEstimateText({ draw, model }) {
  if (draw === "top") return "There is no estimate. This session asks for the most uncertain item and not for random ones, so the answers say nothing about the other items.";
  return model.answers === 0 ? "The first estimate comes with the first model." : "No estimate yet. It needs a few more answers.";
}

/** @param {StopAdvice} stop */
export const adviceTitle = ({ advice }) => (advice === "stop" ? "You can stop here" : "Keep going");

/** @param {Agreement} agreement */
export function agreementText({ items, share, kappa }) {
  return `${percent(share)} agreement on ${many(items, "item")} answered twice${kappa === null ? "" : ` (kappa ${kappa.toFixed(2)})`}`;
}

/**
 * Returns the rows with the most answers if there are too many to show, and the number of the others.
 * @template {{ n: number }} T
 * @param {T[]} rows
 */
export function foremost(rows) {
  const shown = rows.length > 12 ? [...rows].sort((a, b) => b.n - a.n).slice(0, 10) : rows;
  return { shown, rest: rows.length - shown.length };
}
