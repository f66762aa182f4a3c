// A mock of the server with the same API, in memory. Tests can set any state, also those that a real server reaches
// only when a disk fails, or after hours.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";

const PAGE = new URL("../", import.meta.url);
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const TYPES = { html: "text/html; charset=utf-8", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };

export class Mock {
  /** items: [{id, fields}]; `change` overrides parts of the status. */
  constructor({ items, labels = ["ham", "spam"], task = "binary", lease = 300, title = "messages.csv", run = "mock-run" }) {
    Object.assign(this, { items, labels, task, lease, title, run });
    this.asks = items.map((item, index) => ({ ...item, ask: index + 1, holder: null, until: 0, answer: null }));
    this.records = [];
    this.replies = new Map();
    /** Overrides: `trouble` {status, message, hint} for every request, `reason` for next, `status` parts of the status. */
    this.trouble = null;
    this.reason = null;
    this.change = {};
    this.streams = new Set();
    this.posts = [];
  }

  async listen(port = 0) {
    this.server = createServer((request, response) => this.#handle(request, response));
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}/`;
    return this;
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #handle(request, response) {
    const body = await read(request);
    const { pathname, searchParams } = new URL(request.url, this.url);
    response.setHeader("Content-Security-Policy", POLICY);
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setHeader("Cache-Control", "no-store");
    if (!pathname.startsWith("/api/")) return this.#file(pathname, response);
    const refusal = this.#refusal(pathname, request.headers["x-querist-run"]);
    if (request.method === "POST") this.posts.push({ pathname, body });
    if (refusal) return send(response, ...refusal);
    if (pathname === "/api/events") return this.#events(response);
    send(response, ...this.reply(pathname, searchParams, body));
    if (["/api/answers", "/api/undo"].includes(pathname)) this.sendStatus();
  }

  /** Returns the status and body of a reply, without the network. */
  reply(pathname, searchParams, body, run = undefined) {
    const refusal = this.#refusal(pathname, run);
    if (refusal) return refusal;
    const routes = {
      "/api/next": () => this.#next(body), "/api/answers": () => this.take(body), "/api/undo": () => this.#undo(body),
      "/api/heartbeat": () => this.#heartbeat(body), "/api/release": () => this.#release(body), "/api/history": () => this.#history(searchParams.get("annotator")),
      "/api/status": () => this.status(), "/api/certificate": () => CERTIFICATE,
    };
    const reply = routes[pathname]?.();
    return reply === undefined ? [404, { error: { code: "not-found", message: "no such route", hint: "" } }] : [200, reply];
  }

  #refusal(pathname, run) {
    if (run !== undefined && run !== this.run) {
      return [409, { error: { code: "other-run", message: "another ledger is served here", hint: "" } }];
    }
    const trouble = typeof this.trouble === "function" ? this.trouble(pathname) : this.trouble;
    return trouble ? [trouble.status, { error: { code: "mock", message: trouble.message, hint: trouble.hint ?? "" } }] : null;
  }

  #file(pathname, response) {
    const name = pathname === "/" ? "index.html" : pathname.replace(/^\/assets\//, "");
    try {
      const content = readFileSync(new URL(name, PAGE));
      response.setHeader("Content-Type", TYPES[name.split(".").pop()] ?? "application/octet-stream");
      response.end(content);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  }

  #events(response) {
    response.setHeader("Content-Type", "text/event-stream");
    response.write(`event: status\ndata: ${JSON.stringify(this.status())}\n\n`);
    this.streams.add(response);
    response.on("close", () => this.streams.delete(response));
  }

  /** Sends the status to every open page. */
  sendStatus() {
    for (const stream of this.streams) stream.write(`event: status\ndata: ${JSON.stringify(this.status())}\n\n`);
  }

  #wire(ask) {
    const mine = ask.answer ? { answer: ask.answer.answer, label: ask.answer.label ?? null } : null;
    return { ask: ask.ask, item: ask.id, probability: ask.probability === undefined ? 0.42 : ask.probability, why: ask.why ?? "model: spam 52 %, ham 48 %", fields: ask.fields, lease_seconds: this.lease, mine };
  }

  #next({ annotator, n }) {
    const now = Date.now();
    const held = this.asks.filter((ask) => !ask.answer && ask.holder === annotator && ask.until > now);
    const free = this.asks.filter((ask) => !ask.answer && !(ask.holder && ask.until > now));
    const items = this.reason ? [] : [...held, ...free].slice(0, Math.max(n, held.length));
    items.sort((a, b) => (b.front ?? 0) - (a.front ?? 0) || a.ask - b.ask);
    for (const ask of items) Object.assign(ask, { holder: annotator, until: now + this.lease * 1000 });
    const open = this.asks.filter((ask) => !ask.answer);
    const others = open.filter((ask) => ask.holder !== annotator && ask.until > now);
    const empty = open.length === 0 ? "finished" : "all-leased";
    const left = { unasked: open.length - others.length, leased: others.length, next_free_seconds: others.length ? Math.min(...others.map((ask) => (ask.until - now) / 1000)) : null };
    const answered = this.active().filter((record) => record.annotator === annotator && record.label !== undefined).length;
    return { items: items.map((ask) => this.#wire(ask)), left: { ...left, answered, ...this.left }, reason: this.reason ?? (items.length ? null : empty) };
  }

  /** Accepts answers; tests call this directly while every request fails. */
  take(answers) {
    return answers.map((each) => this.#answer(each));
  }

  #answer({ ask: number, annotator, key, label, skip, unsure }) {
    if (this.replies.has(key)) return { ...this.replies.get(key), status: "repeated" };
    const ask = this.asks.find((each) => each.ask === number);
    if (!ask) return { ask: number, key, status: "refused", why: `there is no question ${number}` };
    const late = ask.holder !== annotator || ask.until < Date.now();
    const record = { answer: this.records.length + 1, ask: number, annotator, key, label, skip, unsure };
    this.records.push(record);
    Object.assign(ask, { answer: record, holder: null, front: 0 });
    const reply = { ask: number, key, status: late && !this.records.some((old) => old !== record && old.ask === number) ? "late" : "saved", answer: record.answer };
    this.replies.set(key, reply);
    return reply;
  }

  #undo({ annotator, key, answer }) {
    if (this.replies.has(key)) return this.replies.get(key);
    const own = this.records.filter((record) => record.annotator === annotator && !record.undone);
    const record = answer === undefined ? own.at(-1) : own.find((each) => each.answer === answer);
    const ask = record && this.asks.find((each) => each.ask === record.ask);
    if (record) {
      for (const each of own.filter((old) => old.ask === record.ask)) each.undone = true;
      Object.assign(ask, { answer: null, holder: annotator, until: Date.now() + this.lease * 1000, front: Date.now() });
    }
    const undone = record ? { answer: record.answer, ask: record.ask, item: ask.id, label: record.label ?? null } : null;
    const reply = { undone, items: record ? [this.#wire(ask)] : [] };
    this.replies.set(key, reply);
    return reply;
  }

  #heartbeat({ annotator, asks }) {
    const now = Date.now();
    const held = asks.filter((number) => this.asks.some((ask) => ask.ask === number && ask.holder === annotator && ask.until > now));
    for (const ask of this.asks) if (held.includes(ask.ask)) ask.until = now + this.lease * 1000;
    return { held, lost: asks.filter((number) => !held.includes(number)) };
  }

  #release({ annotator, asks }) {
    for (const ask of this.asks) if (ask.holder === annotator && asks.includes(ask.ask)) ask.holder = null;
    return {};
  }

  /** Returns the active answers: the last one of each ask. */
  active() {
    return this.asks.filter((ask) => ask.answer).map((ask) => ask.answer);
  }

  #history(annotator) {
    const own = this.active().filter((record) => record.annotator === annotator).sort((a, b) => b.answer - a.answer).slice(0, 10);
    return own.map(({ answer, ask, label, skip, unsure }) => {
      const { id, fields } = this.asks[ask - 1];
      return { answer, ask, item: id, label: label ?? null, skip: Boolean(skip), unsure: Boolean(unsure), preview: String(fields[0].value).slice(0, 60) };
    });
  }

  status() {
    const active = this.active();
    const labeled = active.filter(({ label }) => label !== undefined);
    const by_class = Object.fromEntries(this.labels.map((label) => [label, labeled.filter((record) => record.label === label).length]));
    const names = [...new Set(this.records.map(({ annotator }) => annotator))];
    return {
      task: this.task, labels: this.labels, run: this.run, annotators: names.map((name) => ({ name, answered: active.filter((record) => record.annotator === name).length })),
      annotator_count: names.length, answers: labeled.length, answered: labeled.length, skipped: active.filter(({ skip }) => skip).length, unsure: active.filter(({ unsure }) => unsure).length,
      pending: this.asks.filter((ask) => ask.holder && !ask.answer).length, by_class, pool: this.items.length, budget: null, rate_per_minute: 0, seconds_left: null,
      estimate: null, twin: null, curve: [], stop: { advice: "go on", why: "There is no model yet." }, agreement: null,
      model: { answers: 0, kind: "linear", fitting: false, cold: true }, store: { writable: true, problem: null }, title: this.title, overlap: 1, draw: "scan", ...this.change,
    };
  }
}

const CERTIFICATE = {
  loss: "logistic", rule: "margin: μ = 1", objective: "With queries where the model is unsure, the fit minimizes the equivalent loss ∫ U(s) ℓ′(s) ds of the margin, over all items and not only over those asked.",
  claims: [
    { claim: "convex-in-score", verdict: "proved", because: ["U′ℓ′ + Uℓ″ ≥ 0 for every margin", "the rule fades no faster than the loss steepens"] },
    { claim: "calibrated", verdict: "proved", because: ["The loss is differentiable at 0 with a negative slope, and the rule is positive there."] },
    { claim: "lipschitz", verdict: "refuted", because: ["A step above 2/L overshoots; L = 0.25."] },
  ],
  certified: { loss: "logistic", rule: "boundary:reach=0.1379,base=0.0667", classes: null, command: "querist certify 'logistic' 'boundary:reach=0.1379,base=0.0667'" },
  why_not: null, advice: ["a small loss on the items asked is a small error on all"],
  constants: { u_max: 1, psi_coefficient: null, psi_power: 2, psi_at_1: 0.1875, neg_h2_half: 0.5, lipschitz: 1, loss_lipschitz: 1 },
};

async function read(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  return text === "" ? null : JSON.parse(text);
}

function send(response, status, body) {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(body));
}
