// Tests of the page with the real server: no answer is lost or duplicated, whatever fails in between.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { answer, countAnswers, inState, matches, noComplaints, ready, saved, shown, shows, strip } from "./steps.mjs";

const running = new Set();

/** Kills the servers and removes the folders that a failed test left behind. */
export function cleanUp() {
  for (const served of running) {
    served.process?.kill("SIGKILL");
    rmSync(served.folder, { recursive: true, force: true });
  }
}

/** A `querist label` process on a file of messages, which can be killed and restarted with the same ledger. */
class Served {
  constructor(program, { rows, labels = "ham,spam", options = [] }) {
    Object.assign(this, { program, labels, options });
    this.folder = mkdtempSync(join(tmpdir(), "querist-served-"));
    running.add(this);
    this.file = join(this.folder, "messages.csv");
    this.ledger = join(this.folder, "messages.ledger");
    writeFileSync(this.file, `id,text\n${rows.map(([id, text]) => `${quoted(id)},${quoted(text)}\n`).join("")}`);
  }

  async start(port = 0) {
    const labels = this.labels === null ? [] : ["--labels", this.labels];
    const common = ["--id", "id", "--text", "text", "--show", "text", "--port", String(port), "--no-browser", "--json", "--ledger", this.ledger];
    this.process = spawn(this.program, ["label", this.file, ...labels, ...common, ...this.options], { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    this.exited = new Promise((resolve) => this.process.once("exit", resolve));
    this.complaints = "";
    this.process.stderr.setEncoding("utf8").on("data", (text) => { this.complaints += text; });
    const lines = createInterface({ input: this.process.stdout });
    const first = new Promise((resolve) => lines.once("line", resolve));
    const line = await Promise.race([first, this.exited.then(() => null)]);
    assert.ok(line, `the server did not start: ${this.complaints}`);
    Object.assign(this, JSON.parse(line));
    this.port = Number(new URL(this.url).port);
    return this;
  }

  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.exited;
  }

  /** Returns the answers in the ledger, as `querist export` prints them. */
  exported(...options) {
    const lines = execFileSync(this.program, ["export", this.ledger, "--format", "jsonl", ...options], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return lines.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  }

  async close() {
    await this.kill("SIGTERM");
    running.delete(this);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const quoted = (text) => `"${text.replaceAll("\"", "\"\"")}"`;

/** Creates texts of two classes with different words, so that the model can learn. */
const messages = (n) => Array.from({ length: n }, (_, index) => [`row${index}`, `message number ${index} ${index % 3 === 0 ? "win cash prize now" : "see you at home later"}`]);

const keyFor = (text) => (/prize/.test(text) ? "s" : "h");

async function visit(browser, url, context) {
  const page = await browser.page(context ?? (await browser.person()));
  await countAnswers(page);
  await page.open(url);
  await ready(page);
  return page;
}

/** Answers n items correctly by keys; returns the texts and labels. */
async function label(page, n) {
  const given = [];
  for (let index = 0; index < n; index += 1) {
    await ready(page);
    const text = await shown(page);
    await answer(page, keyFor(text));
    given.push([text, keyFor(text) === "s" ? "spam" : "ham"]);
  }
  return given;
}

/** Answers items until the page shows a message of this kind instead; returns the texts and labels. */
async function labelAll(page, kind) {
  const given = [];
  for (;;) {
    await page.until(`document.querySelector('.item') !== null || document.querySelector('.state')?.dataset.state === '${kind}'`);
    if (await page.evaluate("document.querySelector('.item') === null")) return given;
    given.push(...(await label(page, 1)));
    await saved(page);
  }
}

const numberOf = (text) => `row${/number (\d+)/.exec(text)[1]}`;

/** Asserts that the ledger has exactly these answers, and at most `others` undone or replaced ones. */
function assertExported(served, given, others = 0) {
  const excess = served.exported("--all").length - served.exported().length;
  assert.ok(excess <= others, `${excess} answers more than were given`);
  const expected = new Map(given.map(([text, verdict]) => [numberOf(text), verdict]));
  const lines = served.exported();
  assert.equal(lines.length, expected.size, "as many answers as were given, none doubled");
  for (const { id, label: found, status } of lines) assert.equal(found ?? status, expected.get(id), id);
}

export const TESTS = {
  async "200 items by keys alone, with skips, unsure answers and undos; a reload restores the state"({ browser, server }) {
    const served = await new Served(server, { rows: messages(400) }).start();
    const page = await visit(browser, served.url);
    await page.evaluate("window.slow = []; new PerformanceObserver((list) => slow.push(...list.getEntries().filter(({ name }) => name === 'keydown').map(({ duration }) => duration))).observe({ type: 'event', durationThreshold: 16 })");
    let given = await label(page, 197);
    const durations = (await page.evaluate("slow")).sort((a, b) => a - b);
    const share = (part) => durations[Math.min(durations.length - 1, Math.floor(durations.length * part))] ?? 16;
    for (let index = 0; index < 5; index += 1) {
      await page.press("Backspace");
      await shows(page, given.at(-1)[0]);
      given = given.slice(0, -1);
    }
    const text = await shown(page);
    assert.equal(numberOf(text), numberOf((await label(page, 1))[0][0]));
    given.push([text, keyFor(text) === "s" ? "spam" : "ham"]);
    for (const [key, verdict] of [[" ", "skip"], ["u", "unsure"]]) {
      await ready(page);
      const item = await shown(page);
      await answer(page, key);
      given.push([item, verdict]);
    }
    given.push(...(await label(page, 5)));
    await saved(page);
    await ready(page);
    const current = await shown(page);
    const before = await strip(page);
    await page.reload();
    await shows(page, current);
    await page.until("document.querySelectorAll('.chip').length === 10");
    assert.deepEqual(await strip(page), before);
    await page.until("/^\\d+ of/.test(document.querySelector('.figure').textContent)");
    noComplaints(page);
    assert.deepEqual(page.dialogs, []);
    await page.close();
    await served.kill("SIGTERM");
    const lines = served.exported();
    assert.equal(lines.filter(({ label: found }) => found !== null).length, 198);
    const exported = new Map(lines.map(({ id, label: found }) => [id, found]));
    for (const [item, verdict] of given) assert.equal(exported.get(numberOf(item)) ?? null, ["skip", "unsure"].includes(verdict) ? null : verdict, item);
    await served.close();
    return `from key to screen: median ${share(0.5)} ms, 99 % ${share(0.99)} ms, the slowest ${share(1)} ms`;
  },

  async "undo after a reload, and a changed answer"({ browser, server }) {
    const served = await new Served(server, { rows: messages(60) }).start();
    const page = await visit(browser, served.url);
    let given = await label(page, 15);
    await saved(page);
    await page.reload();
    await ready(page);
    for (let index = 0; index < 12; index += 1) {
      await page.until("document.querySelectorAll('.chip').length > 0");
      await page.press("Backspace");
      await shows(page, given.at(-1)[0]);
      given = given.slice(0, -1);
    }
    await saved(page);
    given.push(...(await label(page, 4)));
    await page.click("#strip li:nth-child(3) button");
    await page.until("!document.querySelector('#keep').hidden");
    await shows(page, given.at(-3)[0]);
    await answer(page, given.at(-3)[1] === "ham" ? "s" : "h");
    given.at(-3)[1] = given.at(-3)[1] === "ham" ? "spam" : "ham";
    await saved(page);
    noComplaints(page);
    await page.close();
    await served.kill();
    assertExported(served, given, 13);
    await served.close();
  },

  async "offline and back"({ browser, server }) {
    const served = await new Served(server, { rows: messages(60) }).start();
    const page = await visit(browser, served.url);
    const given = await label(page, 5);
    await saved(page);
    // Offline, the page has only the items that it has fetched before.
    await page.idle();
    await page.offline(true);
    given.push(...(await label(page, 3)));
    await matches(page, "#saving", /Offline, 3 waiting/);
    assert.equal(served.exported().length, 5);
    await page.offline(false);
    await saved(page);
    given.push(...(await label(page, 4)));
    await saved(page);
    noComplaints(page);
    await page.close();
    await served.kill();
    assertExported(served, given);
    await served.close();
  },

  async "the server is killed and restarted ten times while the page is open"({ browser, server }) {
    const served = await new Served(server, { rows: messages(300) }).start();
    const page = await visit(browser, served.url);
    page.outage = true;
    const given = [];
    for (let round = 0; round < 10; round += 1) {
      given.push(...(await label(page, 4)));
      // In every other round the answers are saved before the kill; otherwise some are still being sent.
      if (round % 2) await saved(page);
      // The item that is shown can be answered without a server.
      await ready(page);
      await served.kill();
      given.push(...(await label(page, 1)));
      if (round === 5) {
        await matches(page, "#saving", /waiting/);
        await page.press("Backspace");
        given.pop();
      }
      await served.start(served.port);
    }
    given.push(...(await label(page, 3)));
    await saved(page);
    assert.ok(page.complaints.length === 0, page.complaints.join("\n"));
    await page.close();
    await served.kill();
    assertExported(served, given, 1);
    await served.close();
  },

  async "two annotators never get the same item, and see each other's progress"({ browser, server }) {
    const served = await new Served(server, { rows: messages(40), options: ["--annotators", "Ada,Łukasz"] }).start();
    const [first, second] = served.annotators;
    const ada = await visit(browser, first.url);
    const lukasz = await visit(browser, second.url);
    assert.equal(await ada.text("#person"), "Ada");
    assert.equal(await lukasz.text("#person"), "Łukasz");
    const both = await Promise.all([label(ada, 15), label(lukasz, 15)]);
    const ids = both.flat().map(([text]) => numberOf(text));
    assert.equal(new Set(ids).size, 30);
    await Promise.all([saved(ada), saved(lukasz)]);
    await matches(ada, "#progress", /Łukasz/);
    // The two annotators hold the remaining items; whoever finishes first sees a message, and continues later.
    const rest = await labelAll(ada, "all-leased");
    rest.push(...(await labelAll(lukasz, "finished")));
    await inState(ada, "finished");
    noComplaints(ada, lukasz);
    await Promise.all([ada.close(), lukasz.close()]);
    await served.kill();
    assertExported(served, [...both.flat(), ...rest]);
    await served.close();
  },

  async "overlap: both are asked all items, and see their agreement"({ browser, server }) {
    const served = await new Served(server, { rows: messages(12), options: ["--annotators", "Ada,Bob", "--overlap", "2"] }).start();
    const pages = [];
    for (const { url } of served.annotators) pages.push(await visit(browser, url));
    for (const page of pages) await label(page, 12);
    for (const page of pages) await inState(page, "finished");
    await matches(pages[0], "#progress", /100 % agreement on 12 items/);
    noComplaints(...pages);
    for (const page of pages) await page.close();
    await served.kill();
    assert.equal(served.exported().length, 24);
    await served.close();
  },

  async "an answer after its lease has expired is reported, kept, and counted once"({ browser, server }) {
    const bob = await browser.page(await browser.person());
    // On a busy machine renewals come late, so the lease is longer.
    const lease = Math.ceil(2 * (await bob.slowness()));
    const served = await new Served(server, { rows: messages(4), options: ["--annotators", "Ada,Bob", "--lease", String(lease)] }).start();
    const ada = await visit(browser, served.annotators[0].url);
    await countAnswers(bob);
    await ada.until(`performance.now() > ${lease * 1750}`, lease * 2);
    assert.ok(await ada.evaluate("document.querySelector('#notice').hidden"), "renewed while the page is visible");
    await ada.offline(true);
    await matches(ada, "#notice", /ran out/);
    await bob.open(served.annotators[1].url);
    const [[text]] = await label(bob, 1);
    await shows(ada, text);
    await answer(ada, "u");
    await saved(bob);
    await ada.offline(false);
    await saved(ada);
    await bob.close();
    await ada.close();
    await served.kill();
    const both = served.exported("--all").filter(({ id }) => id === numberOf(text)).map(({ annotator }) => annotator);
    assert.deepEqual(both.sort(), ["Ada", "Bob"]);
    await served.close();
  },

  async "a skipped item is asked again at the end, and has one entry in the strip"({ browser, server }) {
    const served = await new Served(server, { rows: messages(3) }).start();
    const page = await visit(browser, served.url);
    const first = await shown(page);
    await answer(page, " ");
    const given = await label(page, 2);
    await shows(page, first);
    given.push(...(await label(page, 1)));
    await inState(page, "finished");
    assert.deepEqual(await strip(page), given.map(([, verdict]) => verdict).reverse());
    await saved(page);
    noComplaints(page);
    await page.close();
    await served.kill();
    assertExported(served, given, 1);
    await served.close();
  },

  async "pictures from a folder and from the file itself"({ browser, server }) {
    const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const served = new Served(server, { rows: [["one", "a small #1 picture.png"], ["two", `data:image/png;base64,${dot}`]] });
    writeFileSync(join(served.folder, "a small #1 picture.png"), Buffer.from(dot, "base64"));
    served.options.push("--images", served.folder);
    await served.start();
    const page = await visit(browser, served.url);
    for (let index = 0; index < 2; index += 1) {
      await page.until("document.querySelector('.picture')?.naturalWidth === 1");
      await answer(page, "1");
    }
    await inState(page, "finished");
    noComplaints(page);
    await page.close();
    await served.close();
  },

  async "the scores of each label on the page match the server's estimates"({ browser, server }) {
    const served = await new Served(server, { rows: messages(200) }).start();
    const page = await visit(browser, served.url);
    await label(page, 24);
    await saved(page);
    await page.until("fetch('/api/status').then((reply) => reply.json()).then(({ model }) => model.answers === 24 && !model.fitting && !model.cold)");
    const status = await page.evaluate("fetch('/api/status').then((reply) => reply.json())");
    const { classes, mean_loss, accuracy } = status.estimate;
    assert.deepEqual(classes.map((each) => each.class), status.labels);
    const scores = classes.flatMap(({ precision, recall, f1 }) => [precision, recall, f1]).filter((score) => score !== null);
    assert.ok(scores.length > 0 && mean_loss.value > 0);
    // A mean loss may have no upper bound.
    for (const { value, low, high } of [...scores, mean_loss]) assert.ok(0 <= low && low <= value && (high === null || value <= high), JSON.stringify([low, value, high]));
    const expected = classes.map(({ precision }) => (precision === null ? "–" : `${Math.round(100 * precision.value)} %`));
    await page.until(`JSON.stringify([...document.querySelectorAll('.scores tbody tr')].map((row) => row.children[1].firstChild.textContent)) === ${JSON.stringify(JSON.stringify(expected))}`);
    noComplaints(page);
    await page.close();
    await served.close();
    return `accuracy ${accuracy}, ${scores.length} scores`;
  },

  async "the certificate on the page matches the output of querist certify for its pair"({ browser, server }) {
    const served = await new Served(server, { rows: messages(200) }).start();
    const page = await visit(browser, served.url);
    await label(page, 12);
    await saved(page);
    await page.until("document.querySelector('#progress .advice') !== null");
    await page.until("fetch('/api/status').then((reply) => reply.json()).then(({ model }) => !model.fitting && !model.cold)");
    await page.click("#open-objective");
    await page.until("document.querySelector('.claims') !== null");
    const [command, verdicts, reasons, numbers, follows] = await page.evaluate(`[".command", ".claims .verdict + strong", ".claims li > p.muted", ".constants dd", ".follows li"].map((selector) => [...document.querySelectorAll(selector)].map((found) => found.textContent))`);
    assert.match(command[0], /^querist certify 'logistic' 'boundary:reach=[\d.e-]+,base=[\d.e-]+(,from=[\d.e-]+)?'$/);
    const words = command[0].split(" ").slice(1).map((word) => word.replaceAll("'", ""));
    const printed = JSON.parse(execFileSync(server, [...words, "--json"], { encoding: "utf8" }));
    assert.deepEqual(verdicts, printed.claims.map(({ claim }) => claim));
    assert.deepEqual(reasons, printed.claims.map(({ because }) => because[0]));
    assert.deepEqual(follows, printed.advice.map((each) => each.replaceAll("`", "")));
    const { u_max, psi_at_1, neg_h2_half, lipschitz, loss_lipschitz } = printed.constants;
    assert.deepEqual(numbers, [u_max, psi_at_1, neg_h2_half, lipschitz, loss_lipschitz].filter((value) => value !== null).map(String));
    noComplaints(page);
    await page.close();
    await served.close();
    return command[0];
  },

  async "two annotators, two answers per item: whoever finishes first sees what others still hold"({ browser, server }) {
    const served = await new Served(server, { rows: messages(6), options: ["--overlap", "2", "--annotators", "ada,ben"] }).start();
    const [ada, ben] = await Promise.all(served.annotators.map(({ url }) => visit(browser, url)));
    await label(ada, 6);
    await inState(ada, "yours-done");
    await matches(ada, ".state", /6 items\. Thank you.*6 items still need/);
    await label(ben, 6);
    for (const page of [ada, ben]) await inState(page, "finished");
    noComplaints(ada, ben);
    await Promise.all([ada.close(), ben.close()]);
    await served.close();
  },

  async "hostile text, ids, labels and names from the real server are shown as text"({ browser, server }) {
    const hostile = ["<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "</script><svg onload=alert(1)>", "{{7*7}} ${7*7} javascript:alert(1)", "\u202Eabc\u202C <b>bold</b>"];
    const served = await new Served(server, { rows: hostile.map((text, index) => [`${text}${index}`, text]), labels: "<b>yes</b>,\"\"\"><img src=x onerror=alert(1)>\"" }).start();
    const page = await visit(browser, served.url);
    await page.click("#person");
    await page.until("document.querySelector('#name') !== null");
    await page.evaluate("document.querySelector('#name').value = ''");
    await page.click("#name");
    await page.type("<b>Mallory</b>");
    await page.press("Enter");
    await ready(page);
    const seen = [];
    for (let index = 0; index < hostile.length; index += 1) {
      await ready(page);
      seen.push(await page.text(".passage"));
      await answer(page, "1");
    }
    await inState(page, "finished");
    assert.deepEqual(seen.sort(), [...hostile].sort());
    assert.deepEqual([...new Set(await strip(page))], ["<b>yes</b>"]);
    assert.equal(await page.text("#person"), "<b>Mallory</b>");
    assert.equal(await page.evaluate("document.querySelectorAll('script').length"), 1);
    assert.equal(await page.evaluate("document.querySelectorAll('main img, main svg, main b').length"), 0);
    assert.doesNotMatch(await page.evaluate("document.title"), /^owned/);
    noComplaints(page);
    await page.close();
    await served.close();
  },

  async "numbers, and a budget that is spent"({ browser, server }) {
    const served = await new Served(server, { rows: messages(30), labels: null, options: ["--number", "--budget", "3"] }).start();
    const page = await visit(browser, served.url);
    for (const value of ["1.5", "-2", "30"]) {
      await ready(page);
      const before = await page.evaluate("window.answersSeen ?? 0");
      await page.type(value);
      await page.press("Enter");
      await page.until(`window.answersSeen > ${before}`);
    }
    await inState(page, "budget");
    await saved(page);
    noComplaints(page);
    await page.close();
    await served.kill();
    assert.deepEqual(served.exported().map(({ label: found }) => found).sort((a, b) => a - b), [-2, 1.5, 30]);
    await served.close();
  },

  async "signed out: the page reports it, and the link signs in again"({ browser, server }) {
    const served = await new Served(server, { rows: messages(20) }).start();
    const page = await browser.page(await browser.person());
    page.outage = true;
    await page.open(new URL("/", served.url).href);
    await inState(page, "signed-out");
    await page.open(served.url);
    await ready(page);
    assert.equal(new URL(await page.evaluate("location.href")).search, "", "the token does not stay in the address");
    noComplaints(page);
    await page.close();
    await served.close();
  },
};
