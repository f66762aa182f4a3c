// The sentences about saving and errors, and the figures of the progress panel.

import assert from "node:assert/strict";
import { test } from "node:test";
import { adviceTitle, agreementText, clippedLossText, comparison, foremost, goalOf, goalText, interval, intervalNote, lossText, noEstimateText, paceText, rSquaredText } from "../../figures.js";
import { noticeFor, savingState, waitingText } from "../../notices.js";
import { digits, percent } from "../../words.js";

const error = (kind, message = "why") => ({ kind, message });
const calm = {
  outbox: { size: 0, error: null, rejected: [] }, session: { current: { lost: false }, reviewed: null, error: null },
  status: { store: { writable: true, problem: null } }, elsewhere: 0, message: "",
};

test("the indicator shows Saved only if nothing waits and nothing failed", () => {
  assert.deepEqual(savingState({ size: 0, error: null }, null), { state: "saved", text: "Saved" });
  assert.deepEqual(savingState({ size: 2, error: null }, null), { state: "saving", text: "Saving" });
  assert.deepEqual(savingState({ size: 2, error: error("unreachable") }, null), { state: "waiting", text: "Offline, 2 waiting" });
  assert.deepEqual(savingState({ size: 1, error: error("store"), volatile: true }, null), { state: "waiting", text: "Not saved, 1 waiting, keep this tab open" });
  assert.deepEqual(savingState({ size: 0, error: null }, { error: error("signed-out") }), { state: "waiting", text: "Signed out" });
});

test("without a problem there is no notice", () => {
  assert.equal(noticeFor(calm), null);
  assert.equal(noticeFor({ ...calm, session: null }), null);
});

test("the panel explains why there is no estimate", () => {
  const model = { answers: 12, kind: "linear", fitting: false, cold: false };
  assert.match(noEstimateText({ draw: "top", model }), /^There is no estimate\. /);
  assert.match(noEstimateText({ draw: "scan", model }), /^No estimate yet\. /);
  assert.match(noEstimateText({ draw: "scan", model: { ...model, answers: 0 } }), /first model/);
});

test("a rejected answer comes before every other notice", () => {
  const outbox = { size: 1, error: error("store"), rejected: [{ preview: "text", why: "no question 2" }] };
  const notice = noticeFor({ ...calm, outbox, message: "hello" });
  assert.equal(notice.text, "An answer was rejected (text): no question 2.");
  assert.equal(notice.action.kind, "dismiss");
});

test("each error that needs the annotator has a notice", () => {
  const noticeOf = (kind) => noticeFor({ ...calm, outbox: { ...calm.outbox, error: error(kind, "The disk is full.") } });
  assert.match(noticeOf("signed-out").text, /^You are signed out\. Open the link/);
  assert.equal(noticeOf("other-run").action.kind, "reload");
  assert.match(noticeOf("store").text, /can't be saved right now: The disk is full\. Yours stay/);
  assert.equal(noticeOf("unreachable"), null, "the indicator shows it");
});

test("a store that the status reports as read-only has a notice before the first failed answer", () => {
  const status = { store: { writable: false, problem: "the disk is full" } };
  assert.match(noticeFor({ ...calm, status }).text, /the disk is full\./);
  assert.match(noticeFor({ ...calm, status: { store: { writable: false, problem: null } } }).text, /read-only/);
});

test("an item whose lease is lost offers the next one", () => {
  assert.equal(noticeFor({ ...calm, session: { ...calm.session, current: { lost: true } } }).action.kind, "next");
});

test("answers for another session are mentioned, unless there is something newer to say", () => {
  assert.match(noticeFor({ ...calm, elsewhere: 1 }).text, /^1 answer for another session is stored/);
  assert.match(noticeFor({ ...calm, elsewhere: 2 }).text, /^2 answers for another session are stored/);
  assert.equal(noticeFor({ ...calm, elsewhere: 2, message: "Nothing to undo." }).text, "Nothing to undo.");
});

test("waiting answers are counted in words", () => {
  assert.equal(waitingText(0), "All your earlier answers are saved.");
  assert.match(waitingText(1), /^1 answer is stored/);
  assert.match(waitingText(3), /^3 answers are stored/);
});

test("the goal is the budget, but never more than the answers that the items need", () => {
  assert.equal(goalOf({ budget: null, pool: 50, overlap: 1 }), 50);
  assert.equal(goalOf({ budget: 400, pool: 50, overlap: 2 }), 100);
  assert.equal(goalOf({ budget: 30, pool: 50, overlap: 2 }), 30);
  assert.equal(goalText({ budget: null, pool: 1, overlap: 1 }), "of 1 item");
});

test("pace and remaining time are shown once they are known", () => {
  assert.equal(paceText({ rate_per_minute: 0, seconds_left: null }), "");
  assert.equal(paceText({ rate_per_minute: null, seconds_left: null }), "");
  assert.equal(paceText({ rate_per_minute: 14.2, seconds_left: 1010 }), "14 per minute · about 17 min left");
});

test("intervals have one unit, and missing numbers are dashes", () => {
  assert.equal(interval({ low: 0.894, high: 0.951 }, percent), "89.4 to 95.1 %");
  assert.equal(interval({ low: 0.16, high: 0.33 }, digits), "0.16 to 0.33");
  assert.equal(interval({ low: null, high: 0.5 }, percent), "– to 50 %");
  assert.equal(interval({ low: 0.16, high: null }, digits), "at least 0.16; no upper bound");
  assert.equal(rSquaredText({ value: 0.45, low: 0.3, high: 0.6 }), "R² on all items: 0.45 (0.3 to 0.6)");
  assert.equal(rSquaredText({ value: 0.45, low: null, high: 0.6 }), "R² on all items: 0.45 (at most 0.6; no lower bound)");
  assert.equal(lossText({ value: 0.21, low: 0.16, high: 0.33 }), "Mean loss 0.21 (0.16 to 0.33)");
  assert.equal(
    lossText({ value: 0.21, low: 0.16, high: null }),
    "Mean loss 0.21 (at least 0.16; no upper bound, because a few items without a label could have large losses)");
  assert.equal(intervalNote({ anytime_low: null, anytime_high: null }, percent), "95 % interval");
  assert.equal(intervalNote({ anytime_low: 0.83, anytime_high: 0.96 }, percent), "95 % interval. Valid even if you check after every label: 83 to 96 %");
});

test("the clipped mean is shown where the mean loss has no upper bound", () => {
  const clipped_loss = { limit: 13849.1, value: 1097, low: 538.75, high: 2385 };
  const text = "Mean of squared errors clipped at 13800: 1100 (539 to 2390)";
  const numbers = { low: 0, high: null, mean_loss: null, clipped_loss };
  assert.equal(clippedLossText(numbers, "number"), text);
  assert.equal(clippedLossText({ ...numbers, high: 9 }, "number"), "");
  assert.equal(clippedLossText({ ...numbers, clipped_loss: null }, "number"), "");
  const classes = { low: 0.8, high: 0.9, mean_loss: { value: 0.2, low: 0.1, high: null }, clipped_loss };
  assert.equal(clippedLossText(classes, "binary"), text.replace("squared errors", "losses"));
  assert.equal(clippedLossText({ ...classes, mean_loss: { value: 0.2, low: 0.1, high: 0.3 } }, "binary"), "");
});

test("comparison, advice and agreement in plain words", () => {
  const twin = { accuracy: 0.875, low: 0.8, high: 0.9, labels: 24, at_equal_labels: null };
  assert.match(comparison(twin, percent), /^With 24 random labels you would be at about 87\.5 %/);
  const equal = { ...twin, at_equal_labels: { value: 0.9, low: 0.8, high: 0.95 } };
  assert.match(comparison(equal, percent), /^With as many random labels you would be at about 90 %.*extrapolated from 24/);
  assert.equal(adviceTitle({ advice: "go on", why: "" }), "Keep going");
  assert.equal(adviceTitle({ advice: "stop", why: "" }), "You can stop here");
  assert.equal(agreementText({ items: 1, share: 1, kappa: null }), "100 % agreement on 1 item answered twice");
  assert.match(agreementText({ items: 40, share: 0.925, kappa: 0.81 }), /\(kappa 0\.81\)$/);
});

test("of many labels, those with the most answers are shown", () => {
  const rows = (n) => Array.from({ length: n }, (_, index) => ({ n: index }));
  assert.equal(foremost(rows(12)).rest, 0);
  const { shown, rest } = foremost(rows(13));
  assert.deepEqual([shown.length, rest, shown[0].n], [10, 3, 12]);
});
