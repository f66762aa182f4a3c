// Steps that many tests share.

import assert from "node:assert/strict";

export const shown = (page) => page.evaluate("document.querySelector('.item')?.textContent ?? null");

/** Waits until an item is shown. */
export const ready = (page) => page.until("document.querySelector('.item') !== null && !document.querySelector('#actions').hidden");

/** Waits until the document is painted; before the first paint a browser drops clicks. */
export const painted = (page) => page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))");

/** Waits until everything is saved. */
export const saved = (page) => page.until("document.querySelector('#saving').dataset.state === 'saved'", 30);

/** Presses a key that answers, and waits until the page has stored one more answer. */
export async function answer(page, key) {
  await ready(page);
  const before = await page.evaluate("window.answersSeen ?? 0");
  await page.press(key);
  await page.until(`(window.answersSeen ?? 0) > ${before}`);
}

/** Counts the answers that the page puts in the outbox; each is one storage entry. */
export const countAnswers = (page) => page.send("Page.addScriptToEvaluateOnNewDocument", { source: `
  const set = Storage.prototype.setItem;
  Storage.prototype.setItem = function (name, value) {
    if (name.startsWith("querist/outbox/") && JSON.parse(value).kind === "answer") window.answersSeen = (window.answersSeen ?? 0) + 1;
    return set.call(this, name, value);
  };
` });

export function noComplaints(...pages) {
  for (const page of pages) assert.deepEqual(page.complaints, [], "the page complained");
}

export const strip = (page) => page.evaluate("[...document.querySelectorAll('.chip-label')].map((chip) => chip.textContent)");

export const savingText = (page) => page.text("#saving-text");
