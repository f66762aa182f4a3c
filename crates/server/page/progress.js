/** The progress panel: counts, pace, the estimate with its curve, advice on stopping, the annotators. */

import { learningCurve } from "./chart.js";
import { byId, foreign, make } from "./dom.js";
import {
  adviceTitle, agreementText, asideText, clippedLossText, comparison, foremost, formatOf, goalOf, goalText, interval, intervalNote, lossText, noEstimateText, paceText, rSquaredText,
} from "./figures.js";
import { count, many } from "./words.js";

/** @import { Child, Score, Status, StopAdvice } from "./types.d.ts" */

/** @param {Status} status */
export function showProgress(status) {
  const goal = goalOf(status);
  byId("thin-bar").style.width = `${Math.min(100, (100 * status.answered) / Math.max(1, goal))}%`;
  const parts = [
    tally(status),
    status.task === "number" ? null : classes(status),
    quality(status, goal),
    scores(status),
    people(status),
    dataProblems(status),
  ];
  byId("figures").replaceChildren(...parts.filter((each) => each !== null));
  byId("objective-row").hidden = false;
}

/**
 * @param {string} title
 * @param {...Child} content
 */
const part = (title, ...content) => make("section", {}, make("h2", { text: title }), ...content);

/**
 * Creates a paragraph in muted color, or nothing for an empty text.
 * @param {string} text
 */
const muted = (text) => (text === "" ? null : make("p", { class: "muted", text }));

/** @param {Status} status */
function tally(status) {
  return part("Answered",
    make("p", { class: "figure" }, make("strong", { text: count(status.answered) }), ` ${goalText(status)}`),
    muted(paceText(status)),
    muted(asideText(status)));
}

/**
 * Lists problems of the data, such as items that training skips because they changed or are missing.
 * @param {Status} status
 */
function dataProblems(status) {
  const lines = (status.data_problems ?? []).map((problem) => make("p", { class: "caution" }, foreign(problem)));
  return lines.length > 0 ? part("Data problems", ...lines) : null;
}

/**
 * Shows the count of each class with a bar; of many classes, only the most frequent.
 * @param {Status} status
 */
function classes(status) {
  const rows = status.labels.map((label) => ({ label, n: status.by_class[label] ?? 0 }));
  const most = Math.max(1, ...rows.map(({ n }) => n));
  const { shown, rest } = foremost(rows);
  const bars = shown.map(({ label, n }) => {
    const bar = make("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${(100 * n) / most}%`);
    return make("li", {}, make("span", { class: "class-name" }, foreign(label)), bar, make("span", { class: "class-count", text: count(n) }));
  });
  return part("By label", make("ul", { class: "classes" }, ...bars), rest > 0 ? muted(`and ${count(rest)} more`) : null);
}

/**
 * Shows the estimate, its curve and the advice.
 * @param {Status} status
 * @param {number} goal
 */
function quality(status, goal) {
  const { estimate, twin, curve } = status;
  // Without items left to ask, advice is useless, and with the draw `top` there is none.
  const stop = status.answered < goal && status.draw !== "top" ? advice(status.stop) : null;
  const share = status.task !== "number";
  const format = formatOf(status.task);
  if (!estimate) {
    return part(share ? "Accuracy" : "Mean squared error", muted(noEstimateText(status)), stop);
  }
  const against = twin ? comparison(twin, format) : "";
  const description = `Learning curve: ${format(estimate.accuracy)} (${interval(estimate, format)}) after ${many(status.answered, "answer")}. ${against}`;
  return part(share ? "Estimated accuracy" : "Estimated mean squared error",
    make("p", { class: "figure" }, make("strong", { text: format(estimate.accuracy) }), ` ${interval(estimate, format)}`),
    muted(intervalNote(estimate, format)),
    estimate.r_squared ? muted(rSquaredText(estimate.r_squared)) : null,
    estimate.mean_loss ? muted(lossText(estimate.mean_loss)) : null,
    muted(clippedLossText(estimate, status.task)),
    curve.length > 0 ? learningCurve({ curve, twin, share, description }) : null,
    against === "" ? null : make("p", { class: "muted against", text: against }),
    estimate.warning ? make("p", { class: "caution" }, foreign(estimate.warning)) : null,
    stop);
}

/** @param {number | null} share */
const wholePercent = (share) => (share === null ? "–" : `${Math.round(100 * share)}`);

/** @param {Score | null} score */
const cell = (score) => make("td", {}, ...(score === null ? ["–"] : [
  `${wholePercent(score.value)} %`, make("span", { class: "muted", text: `${wholePercent(score.low)}–${wholePercent(score.high)}` })]));

/**
 * Shows precision, recall and F1 of each class, with their intervals.
 * @param {Status} status
 */
function scores(status) {
  const rows = (status.estimate?.classes ?? []).map((scored) => ({ ...scored, n: status.by_class[scored.class] ?? 0 }));
  if (rows.length === 0) return null;
  const { shown, rest } = foremost(rows);
  const head = ["Label", "Precision", "Recall", "F1"].map((text) => make("th", { scope: "col", text }));
  const body = shown.map((row) => make("tr", {}, make("th", { scope: "row" }, foreign(row.class)), cell(row.precision), cell(row.recall), cell(row.f1)));
  return part("Estimates per label",
    make("table", { class: "scores" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)),
    muted(`${rest > 0 ? `And ${count(rest)} more. ` : ""}Precision: how often the model is right when it predicts the label. Recall: how many items of the label it finds. F1 combines both.`));
}

/** @param {StopAdvice} stop */
function advice(stop) {
  return make("p", { class: `advice ${stop.advice === "stop" ? "stop" : "on"}` }, make("strong", { text: adviceTitle(stop) }), ": ", foreign(stop.why));
}

/** @param {Status} status */
function people(status) {
  if (status.annotators.length < 2 && !status.agreement) return null;
  const rows = status.annotators.slice(0, 12).map(({ name, answered }) =>
    make("li", {}, make("span", { class: "class-name" }, foreign(name)), make("span", { class: "class-count", text: count(answered) })));
  const rest = status.annotator_count - rows.length;
  return part("Annotators",
    make("ul", { class: "classes people" }, ...rows),
    rest > 0 ? muted(`and ${count(rest)} more`) : null,
    status.agreement ? muted(agreementText(status.agreement)) : null);
}
