// Chromium, controlled through a pipe: pages with keys, clicks, offline mode and screenshots, and their errors.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio", "--hide-scrollbars",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--remote-debugging-pipe",
  // Keeps both pages of a test with two annotators active.
  "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling",
];

export class Browser {
  #next = 1;
  #waiting = new Map();
  #listeners = new Map();

  static async launch(program) {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "querist-page-"));
    browser.process = spawn(program, [...FLAGS, `--user-data-dir=${browser.profile}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    browser.exited = new Promise((resolve) => browser.process.once("exit", resolve));
    browser.process.once("error", (error) => browser.#fail(error));
    browser.exited.then(() => browser.#fail(new Error("the browser ended")));
    let rest = "";
    browser.process.stdio[4].setEncoding("utf8").on("data", (piece) => {
      const messages = (rest + piece).split("\0");
      rest = messages.pop();
      for (const message of messages) browser.#hear(JSON.parse(message));
    });
    await browser.send("Browser.getVersion");
    return browser;
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #hear(message) {
    if (message.id === undefined) {
      this.#listeners.get(message.sessionId ?? "")?.(message.method, message.params);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error) waiting?.reject(new Error(`${waiting.method}: ${message.error.message}`));
    else waiting?.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, method });
      this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Creates a browser context of its own, which shares nothing with other annotators' pages. */
  async person() {
    const { browserContextId } = await this.send("Target.createBrowserContext");
    return browserContextId;
  }

  async page(browserContextId) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.#listeners.set(sessionId, (method, params) => page.heard(method, params));
    for (const domain of ["Page", "Runtime", "Log", "Network", "Audits"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setFocusEmulationEnabled", { enabled: true });
    await page.resize(1280, 800);
    return page;
  }

  async close() {
    await this.send("Browser.close").catch(() => {});
    await this.exited;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

const NAMED = {
  " ": { code: "Space", text: " ", keyCode: 32 }, Backspace: { code: "Backspace", keyCode: 8 }, Enter: { code: "Enter", text: "\r", keyCode: 13 },
  Escape: { code: "Escape", keyCode: 27 }, Tab: { code: "Tab", keyCode: 9 },
};

/** The pause between two polls; a poll itself takes a few milliseconds on an idle machine. */
const POLL_MS = 15;
const POLLS_PER_SECOND = 45;

export class Page {
  /** The errors of the page: exceptions, violations of the content security policy, failed requests. */
  complaints = [];
  /** True while the network or the server is down on purpose, so that failed requests are no complaint. */
  outage = false;
  dialogs = [];
  /** The ids of requests without a complete reply, except the event stream, which never ends. */
  inFlight = new Set();

  constructor(browser, sessionId, targetId) {
    Object.assign(this, { browser, sessionId, targetId });
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  heard(method, params) {
    if (method === "Runtime.exceptionThrown") this.complaints.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) this.complaints.push(`console: ${params.args.map((each) => each.value ?? each.description).join(" ")}`);
    if (method === "Log.entryAdded") this.#logged(params.entry);
    if (method === "Audits.issueAdded" && params.issue.code === "ContentSecurityPolicyIssue") this.complaints.push(`policy: ${JSON.stringify(params.issue.details)}`);
    if (method === "Page.javascriptDialogOpening") {
      this.dialogs.push(params.type);
      this.send("Page.handleJavaScriptDialog", { accept: true }).catch(() => {});
    }
    if (method === "Network.requestWillBeSent" && params.type !== "EventSource") this.inFlight.add(params.requestId);
    if (method === "Network.loadingFinished" || method === "Network.loadingFailed") this.inFlight.delete(params.requestId);
  }

  #logged(entry) {
    const failedLoad = entry.source === "network" && /Failed to load resource|ERR_/.test(entry.text);
    if (failedLoad && this.outage) return;
    if (entry.level === "error" || entry.level === "warning") this.complaints.push(`log: ${entry.text} ${entry.url ?? ""}`);
  }

  async open(url) {
    const { errorText } = await this.send("Page.navigate", { url });
    if (errorText && !this.outage) throw new Error(`${url}: ${errorText}`);
    await this.until("document.readyState === 'complete'");
    await this.painted();
  }

  async reload() {
    await this.evaluate("window.beforeReload = true");
    await this.send("Page.reload");
    await this.until("window.beforeReload === undefined && document.readyState === 'complete'");
    await this.painted();
  }

  /** Waits until the document is painted; before the first paint a browser drops clicks and keys. A hidden tab never paints. */
  async painted() {
    await this.until("new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))); setTimeout(resolve, 2000, true); })");
  }

  /** Waits until the page has no request in flight, so that nothing more arrives unless the test or the server acts. */
  async idle() {
    // A reply can cause another request, so the page gets some turns to send it.
    for (let turns = 0; turns < 5; turns += 1) {
      await this.evaluate("new Promise((resolve) => { setTimeout(resolve, 10, true); })");
      if (this.inFlight.size > 0) turns = -1;
    }
  }

  /** Returns how many times slower than an idle machine the page responds, from 1 to 10. */
  async slowness() {
    const start = performance.now();
    for (let turns = 0; turns < 20; turns += 1) await this.evaluate("1");
    return Math.min(10, Math.max(1, (performance.now() - start) / 20 / 3));
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression.slice(0, 200)}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /**
   * Waits until an expression is true in the page. On an idle machine, it gives up after `seconds`. On a busy one, polls take
   * longer, and it gives up after as many polls, but at the latest after ten times as long.
   */
  async until(expression, seconds = 20) {
    const start = Date.now();
    for (let polls = 0; ; polls += 1) {
      // During navigation the evaluation can fail, so it is retried.
      let problem = "";
      const value = await this.evaluate(expression).catch((error) => {
        problem = error.message;
        return false;
      });
      if (value) return value;
      const elapsed = (Date.now() - start) / 1000;
      if ((elapsed > seconds && polls > seconds * POLLS_PER_SECOND) || elapsed > seconds * 10) throw new Error(`never came true: ${expression} ${problem}\ncomplaints: ${this.complaints.join("\n")}\nthe page shows: ${await this.evaluate("document.body.innerText.slice(0, 1500)")}`);
      await pause(POLL_MS);
    }
  }

  async press(key, modifiers = 0) {
    const named = NAMED[key] ?? { text: key, keyCode: /[a-z0-9]/i.test(key) ? key.toUpperCase().charCodeAt(0) : undefined };
    const text = modifiers & 2 ? undefined : named.text;
    const common = { key, code: named.code, windowsVirtualKeyCode: named.keyCode, modifiers };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", text, ...common });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...common });
  }

  async type(text) {
    for (const key of text) await this.press(key);
  }

  /** Clicks on an element. If the page replaces it between press and release, there is no click; then it clicks again. */
  async click(selector) {
    await this.until(`document.querySelector(${JSON.stringify(selector)}) !== null`);
    let clicked = false;
    for (let tries = 0; tries < 50 && !clicked; tries += 1) {
      await this.evaluate("window.clicked = false; addEventListener('click', () => { window.clicked = true; }, { capture: true, once: true });");
      await this.#pressMouse(selector);
      // A click may have loaded another document, which has no such variable.
      clicked = (await this.evaluate("window.clicked ?? true").catch(() => true)) === true;
    }
    if (!clicked) throw new Error(`${selector} cannot be clicked`);
  }

  async #pressMouse(selector) {
    const position = await this.evaluate(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({ block: "nearest" }); const r = e.getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()`);
    for (const type of ["mousePressed", "mouseReleased"]) await this.send("Input.dispatchMouseEvent", { type, ...position, button: "left", clickCount: 1 });
  }

  text(selector) {
    return this.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
  }

  async offline(away) {
    this.outage = away || this.outage;
    await this.send("Network.emulateNetworkConditions", { offline: away, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  }

  async resize(width, height) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  }

  async scheme(value) {
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }, { name: "prefers-reduced-motion", value: "reduce" }] });
  }

  async screenshot(path, whole = false) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole });
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  async close() {
    await this.browser.send("Target.closeTarget", { targetId: this.targetId });
  }
}

export const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
