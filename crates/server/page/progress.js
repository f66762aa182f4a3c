/** The progress panel: counts, pace, the estimate with its curve, advice on stopping, the annotators. */

import { learningCurve } from "./chart.js";
import { byId, foreign, make } from "./dom.js";
import { count, digits, duration, many, percent } from "./words.js";

export function showProgress(status, onObjective) {
  const goal = status.budget === null ? status.pool : Math.min(status.budget, status.pool * Math.max(1, status.overlap));
  byId("thin-bar").style.width = `${Math.min(100, (100 * status.answered) / Math.max(1, goal))}%`;
  const focused = document.activeElement?.id === "open-objective";
  byId("progress").replaceChildren(
    tally(status, goal),
    status.task === "number" ? "" : classes(status),
    quality(status, goal),
    scores(status) ?? "",
    people(status) ?? "",
    dataProblems(status) ?? "",
    make("p", {}, make("button", { id: "open-objective", class: "linklike", type: "button", text: "What is being optimised?", onclick: onObjective })),
  );
  if (focused) byId("open-objective").focus({ preventScroll: true });
}

const part = (title, ...content) => make("section", {}, make("h2", { text: title }), ...content.filter((each) => each !== null));

function tally(status, goal) {
  const of = status.budget === null ? `of ${many(goal, "item")}` : `of a budget of ${count(status.budget)}`;
  const pace = [
    status.rate_per_minute > 0 ? `${count(Number(status.rate_per_minute.toPrecision(2)))} a minute` : null,
    status.seconds_left === null ? null : `about ${duration(status.seconds_left)} left`,
  ].filter((each) => each !== null);
  const aside = [
    status.skipped > 0 ? `${count(status.skipped)} skipped` : null,
    status.unsure > 0 ? `${count(status.unsure)} unsure` : null,
  ].filter((each) => each !== null);
  return part("Answered",
    make("p", { class: "figure" }, make("strong", { text: count(status.answered) }), ` ${of}`),
    pace.length > 0 ? make("p", { class: "muted", text: pace.join(" · ") }) : null,
    aside.length > 0 ? make("p", { class: "muted", text: aside.join(" · ") }) : null);
}

/** Lists problems of the data, such as items that training skips because they changed or are missing. */
function dataProblems(status) {
  const lines = (status.data_problems ?? []).map((problem) => make("p", { class: "caution" }, foreign(problem)));
  return lines.length > 0 ? part("Data problems", ...lines) : null;
}

/** Returns the classes with the most answers, if there are many. */
const foremost = (rows) => (rows.length > 12 ? [...rows].sort((a, b) => b.n - a.n).slice(0, 10) : rows);

/** Shows the count of each class with a bar; of many classes, only the most frequent. */
function classes(status) {
  const rows = status.labels.map((label) => ({ label, n: status.by_class[label] ?? 0 }));
  const most = Math.max(1, ...rows.map(({ n }) => n));
  const shown = foremost(rows);
  const bars = shown.map(({ label, n }) => {
    const bar = make("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${(100 * n) / most}%`);
    return make("li", {}, make("span", { class: "class-name" }, foreign(label)), bar, make("span", { class: "class-count", text: count(n) }));
  });
  const rest = rows.length - shown.length;
  return part("By label", make("ul", { class: "classes" }, ...bars), rest > 0 ? make("p", { class: "muted", text: `and ${count(rest)} more` }) : null);
}

function quality(status, goal) {
  const { estimate, twin, curve, model } = status;
  // Without items left to ask, advice is useless.
  const stop = status.answered < goal ? advice(status.stop) : null;
  const share = status.task !== "number";
  const shown = share ? percent : digits;
  const between = ({ low, high }) => `${shown(low)} to ${shown(high)}`;
  if (!estimate) {
    return part(share ? "Accuracy" : "Loss", make("p", { class: "muted", text: model.answers === 0 ? "The first estimate comes with the first model." : "No estimate yet: a few more answers are needed." }), stop);
  }
  const anytime = Number.isFinite(estimate.anytime_low) ? `; ${between({ low: estimate.anytime_low, high: estimate.anytime_high })} however often you look` : "";
  const against = twin ? `Random sampling would have asked ${count(twin.labels)} of these; they alone give ${shown(twin.accuracy)} (${between(twin)}).` : null;
  const description = `Learning curve: ${shown(estimate.accuracy)}, between ${between(estimate)}, after ${many(status.answered, "answer")}. ${against ?? ""}`;
  return part(share ? "Estimated accuracy" : "Estimated loss",
    make("p", { class: "figure" }, make("strong", { text: shown(estimate.accuracy) }), ` ${between(estimate)}`),
    make("p", { class: "muted", text: `95 % confidence${anytime}` }),
    estimate.mean_loss ? make("p", { class: "muted", text: `Mean loss ${digits(estimate.mean_loss.value)}, ${digits(estimate.mean_loss.low)} to ${digits(estimate.mean_loss.high)}` }) : null,
    curve.length > 0 ? learningCurve({ curve, twin, share, description }) : null,
    against ? make("p", { class: "muted against", text: against }) : null,
    estimate.warning ? make("p", { class: "caution" }, foreign(estimate.warning)) : null,
    stop);
}

/** Shows precision, recall and F1 of each class, with their intervals. */
function scores(status) {
  const rows = (status.estimate?.classes ?? []).map((scores) => ({ ...scores, n: status.by_class[scores.class] ?? 0 }));
  if (rows.length === 0) return null;
  const whole = (share) => `${Math.round(100 * share)}`;
  const cell = (score) => make("td", {}, ...(score === null ? ["–"] : [
    `${whole(score.value)} %`, make("span", { class: "muted", text: `${whole(score.low)}–${whole(score.high)}` })]));
  const shown = foremost(rows);
  const rest = rows.length - shown.length;
  const head = ["Label", "Precision", "Recall", "F1"].map((text) => make("th", { scope: "col", text }));
  const body = shown.map((row) => make("tr", {}, make("th", { scope: "row" }, foreign(row.class)), cell(row.precision), cell(row.recall), cell(row.f1)));
  return part("Estimated label by label",
    make("table", { class: "scores" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)),
    make("p", { class: "muted", text: `${rest > 0 ? `And ${count(rest)} more. ` : ""}Precision: how often the model is right when it says so. Recall: how many of them it finds. F1: both in one.` }));
}

function advice(stop) {
  const title = stop.advice === "stop" ? "You may stop" : "Go on";
  return make("p", { class: `advice ${stop.advice === "stop" ? "stop" : "on"}` }, make("strong", { text: title }), ": ", foreign(stop.why));
}

function people(status) {
  if (status.annotators.length < 2 && !status.agreement) return null;
  const rows = status.annotators.slice(0, 12).map(({ name, answered }) =>
    make("li", {}, make("span", { class: "class-name" }, foreign(name)), make("span", { class: "class-count", text: count(answered) })));
  const rest = status.annotator_count - rows.length;
  const { agreement } = status;
  const kappa = agreement && Number.isFinite(agreement.kappa) ? `, κ ${agreement.kappa.toFixed(2)}` : "";
  return part("People",
    make("ul", { class: "classes people" }, ...rows),
    rest > 0 ? make("p", { class: "muted", text: `and ${count(rest)} more` }) : null,
    agreement ? make("p", { class: "muted", text: `Agreed on ${percent(agreement.share)} of ${many(agreement.items, "item")} answered twice${kappa}` }) : null);
}
