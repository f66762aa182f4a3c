// Steps that many tests share.

import assert from "node:assert/strict";

export const shown = (page) => page.evaluate("document.querySelector('.item')?.textContent ?? null");

/** Waits until an item is shown. */
export const ready = (page) => page.until("document.querySelector('.item') !== null && !document.querySelector('#actions').hidden");

/** Waits until an item with this text is shown. */
export const shows = (page, text) => page.until(`document.querySelector('.item')?.textContent === ${JSON.stringify(text)}`);

/** Waits until the progress panel is drawn. */
export const panelDrawn = (page) => page.until("document.querySelector('#progress .figure') !== null");

/** Waits until the page shows one of these messages instead of an item. */
export const inState = (page, ...kinds) => page.until(`${JSON.stringify(kinds)}.includes(document.querySelector('.state')?.dataset.state)`);

/** Waits until the text of an element matches. */
export const matches = (page, selector, pattern) => page.until(`${pattern}.test(document.querySelector(${JSON.stringify(selector)})?.textContent ?? "")`);

/** Waits until the dialogs are closed; until then, keys do not answer. */
export const dialogClosed = (page) => page.until("document.querySelector('dialog[open]') === null");

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
