// A browser and a server without a network, for tests of the session: requests go to the mock, and time is simulated.

import { mock as nodeMock } from "node:test";
import { belongTo, get, post } from "../../api.js";
import { Outbox } from "../../outbox.js";
import { Session } from "../../session.js";
import { MemoryStore } from "../../store.js";
import { Mock } from "../mock.mjs";

export const items = (n) => Array.from({ length: n }, (_, index) => ({ id: `row${index}`, fields: [{ name: "text", kind: "text", value: `text ${index}` }] }));

/** Lets pending promises run. */
const turn = () => new Promise((resolve) => { setImmediate(resolve); });

/** One browser with its storage, and a server. `network` is "up", "down", "no-reply" (the request arrives) or "silent" (no reply, no error). */
export class Simulation {
  network = "up";
  storage = new MemoryStore();
  /** Requests that never end, because their page is closed or the network is silent. */
  #silence = new Promise(() => {});

  /** The open pages of all tests, which would continue to send. */
  static #pages = new Set();

  constructor(options = {}) {
    for (const page of Simulation.#pages) this.close(page);
    this.server = new Mock({ items: items(40), ...options });
    globalThis.fetch = (path, init) => this.#fetch(path, init);
  }

  async #fetch(path, { method, headers = {}, body }) {
    const { network } = this;
    await turn();
    if (network === "down") throw new TypeError("network error");
    if (network === "silent") return this.#silence;
    const { pathname, searchParams } = new URL(path, "http://localhost");
    const parsed = body === undefined ? null : JSON.parse(body);
    if (method === "POST") this.server.posts.push({ pathname, body: parsed });
    const [status, reply] = this.server.reply(pathname, searchParams, parsed, headers["X-Querist-Run"]);
    if (network === "no-reply") throw new TypeError("network error");
    return new Response(JSON.stringify(reply), { status });
  }

  /** Opens the page in this browser. A page that is closed receives no more replies. */
  async open(name = "ada", storage = this.storage) {
    const page = { isClosed: false };
    Simulation.#pages.add(page);
    const alive = (promise) => promise.then(
      (reply) => (page.isClosed ? this.#silence : reply),
      (error) => (page.isClosed ? this.#silence : Promise.reject(error)));
    const api = {
      get: (...request) => (page.isClosed ? this.#silence : alive(get(...request))),
      post: (...request) => (page.isClosed ? this.#silence : alive(post(...request))),
    };
    belongTo(this.server.run);
    page.outbox = new Outbox(storage, this.server.run, api.post);
    page.session = new Session(name, page.outbox, api);
    page.messages = [];
    page.session.addEventListener("message", ({ detail }) => page.messages.push(detail));
    void page.session.start();
    page.outbox.flush();
    await this.pass(0);
    return page;
  }

  close(page) {
    page.isClosed = true;
    Simulation.#pages.delete(page);
  }

  /** Lets time pass, with everything that happens in it. */
  async pass(milliseconds) {
    for (let passed = 0; passed <= milliseconds; passed += 100) {
      for (let turns = 0; turns < 12; turns += 1) await turn();
      if (passed < milliseconds) nodeMock.timers.tick(100);
    }
  }

  /** Lets time pass until the outbox is empty. */
  async saved({ outbox }) {
    for (let seconds = 0; outbox.size > 0 && seconds < 60; seconds += 1) await this.pass(1_000);
  }

  /** Returns the verdicts that the server has, by ask. */
  verdicts() {
    return new Map(this.server.active().map(({ ask, label, skip, unsure }) => [ask, label ?? (skip ? "skip" : unsure && "unsure")]));
  }
}

export function fakeTimers() {
  nodeMock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_700_000_000_000 });
}

/** Returns a generator of random numbers in [0, 1) from a seed (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
