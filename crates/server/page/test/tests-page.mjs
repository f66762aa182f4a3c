// Tests of the page with the mock: every state, and rare failures of the store.

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { Mock } from "./mock.mjs";
import { STATES, messages, openState } from "./states.mjs";
import { answer, countAnswers, dialogClosed, matches, noComplaints, ready, saved, shown, shows, strip } from "./steps.mjs";

async function open(browser, options, context) {
  const mock = await new Mock({ items: messages(30), ...options }).listen();
  const page = await browser.page(context ?? (await browser.person()));
  await countAnswers(page);
  await page.open(mock.url);
  await ready(page);
  return { mock, page, async close() { await page.close(); await mock.close(); } };
}

const distinct = (n) => Array.from({ length: n }, (_, index) => ({ id: `row${index}`, fields: [{ name: "text", kind: "text", value: `message number ${index}` }] }));

const HOSTILE = [
  "<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "<svg onload=\"document.title='owned'\">", "</textarea><b>bold</b>",
  "javascript:alert(1)", "{{7*7}}", "</script><script>document.title='owned'</script>", "\u202Egnp.exe\u202C", "a\u0301".repeat(2000), "\u200B\uFEFF\u2066",
];

async function axeFinds(page, axe) {
  await page.evaluate(`${axe}; 0`);
  return page.evaluate(`axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then(({ violations }) =>
    violations.map(({ id, help, nodes }) => id + ": " + help + " " + nodes.map(({ target, failureSummary }) => target + " " + failureSummary).join("; ")))`);
}

export const TESTS = {
  async "the page is smaller than 150 kB"() {
    const files = readdirSync(new URL("../", import.meta.url)).filter((name) => /\.(js|css|html|svg)$/.test(name));
    const bytes = files.map((name) => statSync(new URL(`../${name}`, import.meta.url)).size).reduce((sum, size) => sum + size, 0);
    assert.ok(bytes < 150_000, `${bytes} bytes`);
    return `${files.length} files, ${bytes} bytes`;
  },

  async "each label has its precision, recall and F1, or a dash without data; of many labels the most frequent are shown"({ browser }) {
    const rows = (page) => page.evaluate("[...document.querySelectorAll('.scores tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))");
    const few = await openState(browser, "fields");
    const all = await rows(few.page);
    assert.equal(all.length, 7);
    assert.deepEqual(all[0], ["billing", "96 %91–99", "95 %90–98", "96 %91–99"]);
    assert.deepEqual(all[5].slice(2), ["–", "–"]);
    assert.match(await few.page.text("#progress"), /Mean loss 0\.21 \(0\.16 to 0\.33\)/);
    await few.close();
    const many = await openState(browser, "many-labels");
    assert.equal((await rows(many.page)).length, 10);
    assert.match(await many.page.text("#progress"), /And 14 more\. Precision/);
    await many.close();
    const none = await openState(browser, "first");
    assert.deepEqual(await rows(none.page), []);
    await none.close();
  },

  async "the probability of a pick is shown as 1 in N, and not shown for the last item"({ browser }) {
    const cases = [[0.0028, "1 in 360"], [0.00018, "1 in 5,600"], [0.42, "1 in 2.4"], [0.1, "1 in 10"], [1e-9, "1 in 1,000,000,000"], [1, null], [null, null]];
    for (const [probability, wanted] of cases) {
      const items = distinct(3).map((item) => ({ ...item, probability }));
      const { page, close } = await open(browser, { items });
      const text = await page.evaluate("document.querySelector('.why .probability')?.textContent ?? null");
      assert.equal(text, wanted === null ? null : `probability of this pick: ${wanted}`);
      await close();
    }
  },

  async "every state passes axe-core, light and dark, wide and narrow, and fits in 320 px"({ browser, axe }) {
    for (const name of Object.keys(STATES)) {
      const { page, close } = await openState(browser, name);
      for (const [width, scheme] of [[1280, "light"], [320, "dark"]]) {
        await page.resize(width, 800);
        await page.scheme(scheme);
        assert.deepEqual(await axeFinds(page, axe), [], `${name}, ${width} px, ${scheme}`);
        assert.ok(await page.evaluate(`document.documentElement.scrollWidth <= ${width}`), `${name} is wider than ${width} px`);
      }
      const small = await page.evaluate("[...document.querySelectorAll('button, input, select')].filter((e) => e.checkVisibility()).filter((e) => { const r = e.getBoundingClientRect(); return r.width < 24 || r.height < 24; }).map((e) => e.outerHTML.slice(0, 100))");
      assert.deepEqual(small, [], `${name}: targets of less than 24 px`);
      noComplaints(page);
      await close();
    }
    return `${Object.keys(STATES).length} states`;
  },

  async "invisible characters are reported, shown on demand, and the choice is remembered"({ browser }) {
    const items = ["49\u200b.90 \u202eabc", "plain text", "two  spaces, a tab\tand 👩‍🚀"].map((value, index) => ({ id: `row${index}`, fields: [{ name: "text", kind: "text", value }] }));
    const { page, close } = await open(browser, { items });
    assert.match(await page.text(".hidden-signs"), /^2 invisible characters/);
    assert.equal(await page.text(".passage"), "49\u200b.90 \u202eabc");
    await page.click(".hidden-signs button");
    await page.until("document.querySelector('.sign') !== null");
    assert.equal(await page.text(".passage"), "49U+200B.90 U+202Eabc");
    await answer(page, "1");
    await shows(page, "plain text");
    await answer(page, "1");
    await shows(page, "two··spaces, a tab→\tand 👩‍🚀");
    noComplaints(page);
    await close();
  },

  async "hostile texts, ids, labels, names and titles are shown as text"({ browser }) {
    const items = HOSTILE.map((text, index) => ({ id: text, why: text, fields: [{ name: HOSTILE[(index + 1) % HOSTILE.length], kind: "text", value: text }, { name: text, kind: "category", value: text }, { name: "picture", kind: "image", value: index % 2 ? "javascript:alert(1)" : "https://outside.example/x.png" }] }));
    const { mock, page, close } = await open(browser, { items, labels: HOSTILE.slice(0, 8), task: "classes", title: HOSTILE[1] });
    mock.change = { annotators: HOSTILE.map((name) => ({ name, answered: 1 })), store: { writable: true, problem: HOSTILE[0] }, stop: { advice: "go on", why: HOSTILE[1] } };
    mock.sendStatus();
    for (const text of HOSTILE) {
      await ready(page);
      assert.equal(await page.text(".passage"), text);
      await answer(page, "1");
    }
    await page.click("#person");
    await page.until("document.querySelector('.known') !== null");
    assert.equal(await page.text(".known bdi"), HOSTILE[0]);
    assert.equal(await page.evaluate("document.querySelectorAll('script').length"), 1);
    assert.equal(await page.evaluate("document.querySelectorAll('main img, main svg, main b').length"), 0);
    assert.ok(!(await page.evaluate("document.title")).startsWith("owned"));
    assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "hostile text widens the page");
    noComplaints(page);
    await close();
  },

  async "answers lost on the way are sent again under the same key and count once"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20) });
    page.outage = true;
    mock.trouble = (path) => (path === "/api/answers" ? { status: 500, message: "" } : null);
    await answer(page, "h");
    await answer(page, "s");
    await matches(page, "#saving", /Offline, 2 waiting/);
    // As if the server had saved the first answer, and only its reply had been lost.
    const [{ body }] = mock.posts.filter(({ pathname }) => pathname === "/api/answers");
    assert.equal(mock.take(body)[0].status, "saved");
    mock.trouble = null;
    await saved(page);
    assert.deepEqual(mock.records.map(({ ask, label }) => [ask, label]), [[1, "ham"], [2, "spam"]]);
    await close();
  },

  async "a full disk, then free space again: the page reports it, keeps the answers, warns before closing"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20) });
    page.outage = true;
    mock.trouble = (path) => (path === "/api/answers" ? { status: 507, message: "The disk is full." } : null);
    for (const key of ["h", "s", " "]) await answer(page, key);
    await matches(page, "#saving", /Not saved, 3 waiting/);
    assert.match(await page.text("#notice"), /The disk is full/);
    await page.reload();
    assert.deepEqual(page.dialogs, ["beforeunload"]);
    await ready(page);
    assert.equal(await shown(page), "message number 3", "answered items do not come back while they wait");
    await page.until("document.querySelectorAll('.chip').length === 3");
    assert.deepEqual(await strip(page), ["skipped", "spam", "ham"]);
    mock.trouble = null;
    await saved(page);
    assert.deepEqual(mock.active().map(({ ask, label, skip }) => [ask, label ?? skip]), [[1, "ham"], [2, "spam"], [3, true]]);
    assert.equal(mock.records.length, 3);
    await close();
  },

  async "signed out during work: the answers wait, and are sent after signing in again"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20) });
    page.outage = true;
    mock.trouble = { status: 401, message: "Not signed in." };
    await answer(page, "s");
    await matches(page, "#saving", /Signed out, 1 waiting/);
    mock.trouble = null;
    await saved(page);
    assert.equal(mock.active().length, 1);
    await close();
  },

  async "a rejected answer is reported and not retried; the others are saved"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20) });
    mock.asks[1].ask = 500;
    for (const key of ["h", "s", "h"]) await answer(page, key);
    await saved(page);
    await matches(page, "#notice", /rejected.*message number 1.*no question 2/);
    assert.deepEqual(mock.active().map(({ ask }) => ask), [1, 3]);
    await page.click("#notice-action");
    await page.until("document.querySelector('#notice').hidden");
    noComplaints(page);
    await close();
  },

  async "undo: waiting answers, saved ones, those from before a reload, one after the other"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(60) });
    for (let index = 0; index < 30; index += 1) await answer(page, index % 2 ? "s" : "h");
    await saved(page);
    for (let index = 29; index >= 25; index -= 1) {
      await page.press(index % 2 ? "Backspace" : "z", index % 2 ? 0 : 2);
      await shows(page, `message number ${index}`);
    }
    await saved(page);
    assert.equal(mock.active().length, 25);
    await page.reload();
    await ready(page);
    for (let index = 24; index >= 2; index -= 1) {
      await page.until("document.querySelectorAll('.chip').length > 0");
      await page.press("Backspace");
      await shows(page, `message number ${index}`);
    }
    await saved(page);
    assert.equal(mock.active().length, 2);
    for (let index = 2; index < 6; index += 1) {
      await shows(page, `message number ${index}`);
      await answer(page, "s");
    }
    // Offline, the page has only the items that it has fetched before.
    await page.idle();
    await page.offline(true);
    await answer(page, "h");
    await page.press("Backspace");
    await shows(page, "message number 6");
    await answer(page, "u");
    await page.offline(false);
    await saved(page);
    assert.deepEqual(mock.active().map(({ ask, label, unsure }) => [ask, label ?? unsure]), [[1, "ham"], [2, "spam"], [3, "spam"], [4, "spam"], [5, "spam"], [6, "spam"], [7, true]]);
    await close();
  },

  async "the strip: an answer changed in place, or kept"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20) });
    for (const key of ["h", "h", "h", "h"]) await answer(page, key);
    await page.click("#strip li:nth-child(3) button");
    await shows(page, "message number 1");
    await page.press("Escape");
    await shows(page, "message number 4");
    await page.click("#strip li:nth-child(3) button");
    await shows(page, "message number 1");
    await answer(page, "s");
    await shows(page, "message number 4");
    assert.deepEqual(await strip(page), ["ham", "ham", "spam", "ham"]);
    await saved(page);
    assert.deepEqual(mock.active().map(({ label }) => label), ["ham", "spam", "ham", "ham"]);
    noComplaints(page);
    await close();
  },

  async "keys: a mouse click, then space, skips; a held key answers once; other keys; no keys"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20) });
    await page.click("#choices .choice");
    await shows(page, "message number 1");
    await page.press(" ");
    await shows(page, "message number 2");
    await saved(page);
    assert.deepEqual(mock.active().map(({ label, skip }) => label ?? skip), ["ham", true]);
    await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "s", text: "s" });
    for (let index = 0; index < 5; index += 1) await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "s", text: "s", autoRepeat: true });
    await page.send("Input.dispatchKeyEvent", { type: "keyUp", key: "s" });
    await shows(page, "message number 3");
    await saved(page);
    assert.equal(mock.active().length, 3);
    await page.press("?");
    await page.click("#settings tbody tr:nth-child(1) button");
    await page.press("s");
    await matches(page, "#key-message", /already used for spam/);
    await page.click("#settings tbody tr:nth-child(1) button");
    await page.press("x");
    await page.press("Escape");
    await dialogClosed(page);
    await answer(page, "x");
    await saved(page);
    assert.equal(mock.active().at(-1).label, "ham");
    await page.reload();
    await ready(page);
    assert.equal(await page.evaluate("document.querySelector('#choices .choice').getAttribute('aria-keyshortcuts')"), "1 x");
    await page.press("?");
    await page.click("#keys-on");
    await page.press("Escape");
    await dialogClosed(page);
    for (const key of ["x", "1", " ", "u", "Backspace"]) await page.press(key);
    assert.equal(await page.evaluate("window.answersSeen ?? 0"), 0, "no key answers once they are off");
    await page.press("z", 2);
    await shows(page, "message number 3");
    await saved(page);
    assert.equal(mock.active().length, 3);
    noComplaints(page);
    await close();
  },

  async "labeling with Tab and Enter alone"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20) });
    for (let presses = 0; presses < 20; presses += 1) {
      await page.press("Tab");
      if (await page.evaluate("document.activeElement.textContent.startsWith('spam')")) break;
    }
    for (const [index, key] of ["Enter", "Enter", " "].entries()) {
      await page.press(key);
      await shows(page, `message number ${index + 1}`);
    }
    await saved(page);
    assert.deepEqual(mock.active().map(({ label }) => label), ["spam", "spam", "spam"]);
    noComplaints(page);
    await close();
  },

  async "numbers: typed, checked, sent as numbers"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20), labels: [], task: "number" });
    await page.type("3,5");
    await page.press("Enter");
    await matches(page, "#number-problem", /decimal point/);
    for (let index = 0; index < 3; index += 1) await page.press("Backspace");
    await page.type("-2.5e1");
    const steps = [["Enter", 1], ["u", 2], [" ", 3], ["Backspace", 2]];
    for (const [key, index] of steps) {
      await page.press(key);
      await shows(page, `message number ${index}`);
    }
    await page.type("0");
    await page.press("Enter");
    await shows(page, "message number 3");
    await saved(page);
    assert.deepEqual(mock.active().map(({ label, unsure }) => label ?? unsure), [-25, true, 0]);
    noComplaints(page);
    await close();
  },

  async "leases: renewed while the page is visible, reported when lost, replaced by the next item"({ browser }) {
    const { mock, page, close } = await open(browser, { items: distinct(20), lease: 4 });
    const heartbeats = () => mock.posts.filter(({ pathname }) => pathname === "/api/heartbeat").length;
    // Polls in the page, so that a busy machine gets more time.
    for (let polls = 0; heartbeats() < 3 && polls < 600; polls += 1) await page.evaluate("new Promise((resolve) => { setTimeout(resolve, 50, true); })");
    assert.ok(heartbeats() >= 3, `${heartbeats()} heartbeats`);
    for (const ask of mock.asks.slice(0, 5)) Object.assign(ask, { holder: "other", until: Date.now() + 60_000 });
    await matches(page, "#notice", /ran out/);
    await matches(page, "#announcer", /ran out/);
    await page.click("#notice-action");
    await shows(page, "message number 5");
    assert.equal(mock.records.length, 0);
    noComplaints(page);
    await close();
  },

  async "another ledger at the same address gets none of the answers; the right one gets them later"({ browser }) {
    const { mock, page } = await open(browser, { items: distinct(20), run: "first" });
    page.outage = true;
    const port = mock.server.address().port;
    await mock.close();
    await answer(page, "s");
    await matches(page, "#saving", /Offline, 1 waiting/);
    const other = await new Mock({ items: distinct(20), run: "second" }).listen(port);
    await matches(page, "#saving", /Other session, 1 waiting/);
    await page.click("#notice-action");
    await matches(page, "#notice", /1 answer for another session is stored/);
    await page.painted();
    await answer(page, "h");
    await saved(page);
    assert.deepEqual(other.records.map(({ ask, label }) => [ask, label]), [[1, "ham"]]);
    await other.close();
    await mock.listen(port);
    await matches(page, "#saving", /Other session/);
    await page.reload();
    await ready(page);
    await saved(page);
    assert.deepEqual(mock.records.map(({ ask, label }) => [ask, label]), [[1, "spam"]]);
    await page.close();
    await mock.close();
  },

  async "a browser without storage: the page asks to keep the tab open, and still saves"({ browser }) {
    const mock = await new Mock({ items: distinct(20) }).listen();
    const page = await browser.page(await browser.person());
    page.outage = true;
    await page.send("Page.addScriptToEvaluateOnNewDocument", { source: "Storage.prototype.setItem = () => { throw new Error('full'); };" });
    await page.open(mock.url);
    await ready(page);
    mock.trouble = { status: 503, message: "busy" };
    await page.press("h");
    await matches(page, "#saving", /1 waiting, keep this tab open/);
    mock.trouble = null;
    await saved(page);
    assert.deepEqual(mock.records.map(({ ask, label }) => [ask, label]), [[1, "ham"]]);
    noComplaints(page);
    await page.close();
    await mock.close();
  },

  async "two tabs of one annotator: an item answered in one disappears from the other"({ browser }) {
    const person = await browser.person();
    const { mock, page, close } = await open(browser, { items: distinct(20) }, person);
    const other = await browser.page(person);
    await other.open(mock.url);
    await ready(other);
    assert.equal(await shown(other), "message number 0");
    await answer(page, "h");
    await shows(other, "message number 1");
    await saved(page);
    noComplaints(page, other);
    await other.close();
    await close();
  },
};
