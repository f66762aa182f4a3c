// All states of the page, and how to reach them with the mock.

import { Mock } from "./mock.mjs";
import { inState, matches, panelDrawn } from "./steps.mjs";

const MESSAGES = [
  "Go until jurong point, crazy.. Available only in bugis n great world la e buffet... Cine there got amore wat...",
  "Ok lar... Joking wif u oni...",
  "Free entry in 2 a wkly comp to win FA Cup final tkts 21st May 2005. Text FA to 87121 to receive entry question(std txt rate)T&C's apply 08452810075over18's",
  "U dun say so early hor... U c already then say...",
  "Nah I don't think he goes to usf, he lives around here though",
  "Even my brother is not like to speak with me. They treat me like aids patent.",
  "SIX chances to win CASH! From 100 to 20,000 pounds txt> CSH11 and send to 87575. Cost 150p/day, 6days, 16+ TsandCs apply Reply HL 4 info",
];

export const messages = (n) => Array.from({ length: n }, (_, index) => ({ id: `sms${index}`, fields: [{ name: "text", kind: "text", value: `${MESSAGES[index % MESSAGES.length]}` }] }));

const one = (fields, more = {}) => [{ id: "row-1", fields, ...more }, ...messages(5)];
const text = (value, name = "text") => ({ name, kind: "text", value });

const curve = Array.from({ length: 16 }, (_, index) => {
  const labels = 10 + index * 10;
  const value = 0.93 - 0.35 * Math.exp(-index / 3.5);
  return { labels, value, low: value - 0.4 / Math.sqrt(labels), high: Math.min(1, value + 0.3 / Math.sqrt(labels)) };
});

const scored = (labels) => labels.map((label, index) => {
  const score = (value) => ({ value: value - 0.005 * index ** 2, low: value - 0.05 - 0.01 * index ** 2, high: Math.min(1, value + 0.03) });
  return { class: label, precision: score(0.962), recall: index === 5 ? null : score(0.948), f1: index === 5 ? null : score(0.957) };
});

export const lively = {
  answered: 160, skipped: 4, unsure: 2, by_class: { ham: 92, spam: 68 }, pool: 5574, budget: 400, rate_per_minute: 14.2, seconds_left: 1010,
  estimate: { accuracy: 0.926, low: 0.894, high: 0.951, anytime_low: 0.871, anytime_high: 0.962, effective_n: 88, warning: null, mean_loss: { value: 0.21, low: 0.16, high: 0.33 }, classes: scored(["ham", "spam"]) },
  twin: { accuracy: 0.887, low: 0.85, high: 0.92, labels: 160, at_equal_labels: { value: 0.901, low: 0.86, high: 0.94 } }, curve,
  stop: { advice: "go on", why: "100 more labels are expected to change 1.8 % of the predictions." }, model: { answers: 160, kind: "linear", fitting: true, cold: false },
};

const warned = { ...lively, stop: { advice: "stop", why: "The last 100 labels changed 0.3 % of the predictions, and 100 more are expected to gain 0.1 points." }, estimate: { ...lively.estimate, warning: "One answer carries 21 % of the weight; the interval may be too narrow." } };

const team = { ...lively, overlap: 2, annotators: [{ name: "Ada", answered: 90 }, { name: "Łukasz", answered: 70 }], agreement: { items: 40, share: 0.925, kappa: 0.81 } };

const long = Array.from({ length: 12 }, (_, index) => `${index + 1}. ${MESSAGES.join(" ")}`).join("\n\n");

const PICTURE = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400"><rect width="640" height="400" fill="#cfe3f2"/><circle cx="480" cy="110" r="50" fill="#f4c95d"/><path d="M0 400L220 160L360 300L450 220L640 400Z" fill="#4a7c59"/></svg>').toString("base64")}`;

const classes = ["billing", "shipping", "returns", "account", "product question", "complaint", "praise"];
const countries = "Albania Algeria Angola Austria Belgium Benin Brazil Canada Chad Chile Cuba Cyprus Egypt Fiji Gabon Ghana Haiti India Iran Iraq Italy Japan Kenya Kuwait".split(" ");

const withLabels = (labels) => ({
  ...lively, by_class: Object.fromEntries(labels.map((label, index) => [label, 30 - index])), estimate: { ...lively.estimate, classes: scored(labels) },
});

const answer = async (page, n) => {
  for (let index = 0; index < n; index += 1) {
    await item(page);
    const before = await page.text("#stage");
    await page.press(index % 3 === 1 ? "s" : "h");
    await page.until(`document.querySelector("#stage").textContent !== ${JSON.stringify(before)}`);
  }
};
const item = (page) => page.until("document.querySelector('.item') !== null");
const state = (kind) => (page) => inState(page, kind);

/** By name: the options of the mock, and the steps before and after opening the page. */
export const STATES = {
  "first": { items: messages(50), after: item },
  "labeling": { items: messages(50), change: lively, async after(page) { await item(page); await answer(page, 12); } },
  "advice": { items: messages(50), change: warned, async after(page) { await item(page); await answer(page, 3); } },
  "team": { items: messages(50), change: team, name: "Ada", after: item },
  "long-text": { items: one([text(long)]), change: lively, after: item },
  "right-to-left": { items: one([text("السلام عليكم! هذه رسالة قصيرة 😀 مع رقم 12345 وكلمة English في الوسط.")]), after: item },
  "fields": { items: one([text("Charged twice for one order 😡", "subject"), text("Hello, I see two charges of 49.90 on my card for order 1182. Please refund one of them.", "body"), { name: "amount", kind: "number", value: 49.9 }, { name: "country", kind: "category", value: "Österreich" }, { name: "previous tickets", kind: "number", value: 3 }]), labels: classes, task: "classes", change: withLabels(classes), after: item },
  "picture": { items: one([{ name: "photo", kind: "image", value: PICTURE }, { name: "place", kind: "category", value: "north ridge" }]), labels: ["mountain", "sea", "city"], task: "classes", after: item },
  "many-labels": { items: messages(20), labels: countries, task: "classes", change: withLabels(countries), after: item },
  "number": { items: messages(20), labels: [], task: "number", async after(page) { await item(page); await page.type("12a"); await page.press("Enter"); } },
  "again": { items: messages(20), async after(page) { await item(page); await answer(page, 4); await page.click("#strip li:nth-child(2) button"); await page.until("!document.querySelector('#keep').hidden"); } },
  "why-hidden": { items: messages(20), async after(page) { await item(page); await page.click(".why button"); } },
  "offline": { items: messages(20), async after(page) { await item(page); await answer(page, 1); await page.offline(true); await answer(page, 3); await matches(page, "#saving", /Offline, 3 waiting/); } },
  "disk-full": { items: messages(20), async after(page, mock) { await item(page); mock.trouble = { status: 507, message: "The disk is full." }; page.outage = true; await answer(page, 2); await matches(page, "#saving", /Not saved, 2 waiting/); } },
  "refused": { items: messages(20), async after(page, mock) { await item(page); mock.asks[0].ask = 9999; await page.press("h"); await page.until("!document.querySelector('#notice').hidden"); } },
  "expired": { items: messages(20), lease: 2, async after(page, mock) { await item(page); for (const ask of mock.asks.slice(0, 5)) Object.assign(ask, { holder: "other", until: Date.now() + 90_000 }); await matches(page, "#notice", /ran out/); } },
  "name": { items: messages(20), change: team, name: null, after: state("name") },
  "finished": { items: messages(3), change: { answered: 3 }, async after(page) { await item(page); await answer(page, 3); await state("finished")(page); } },
  "yours-done": { items: messages(20), change: { ...team, pool: 90 }, name: "Ada", before(mock) { mock.reason = "yours-done"; mock.left = { unasked: 0, leased: 0, next_free_seconds: null, for_others: 20, answered: 90 }; }, after: state("yours-done") },
  "invisible": { items: one([text("Total:\u00a0 49\u200b.90\t(paid\u202e) \u00ad 👩‍🚀  \nnext line ")]), async after(page) { await item(page); await page.click(".hidden-signs button"); await page.until("document.querySelector('.sign') !== null"); } },
  "all-leased": { items: messages(20), before(mock) { mock.reason = "all-leased"; mock.left = { unasked: 0, leased: 3, next_free_seconds: 42 }; }, after: state("all-leased") },
  "budget": { items: messages(20), change: { ...lively, answered: 400 }, before(mock) { mock.reason = "budget"; }, after: state("budget") },
  "read-only": { items: messages(20), change: { store: { writable: false, problem: "The disk stopped taking writes (input/output error); start the server again when it is repaired." } }, before(mock) { mock.trouble = (path) => (path === "/api/next" ? { status: 503, message: "The store is read-only: a write failed.", hint: "Free the disk and start querist label again." } : null); }, outage: true, after: state("read-only") },
  "signed-out": { items: messages(20), before(mock) { mock.trouble = { status: 401, message: "Not signed in." }; }, outage: true, after: state("signed-out") },
  "unreachable": { items: messages(20), before(mock) { mock.trouble = { status: 502, message: "" }; }, outage: true, after: state("unreachable") },
  "other-run": { items: messages(3), outage: true, async after(page, mock) { await item(page); mock.run = "another"; await answer(page, 3); await state("other-run")(page); } },
  "settings": { items: messages(20), async after(page) { await item(page); await page.press("?"); await page.until("document.querySelector('#settings').open"); } },
  "objective": { items: messages(20), change: lively, async after(page) { await item(page); await panelDrawn(page); await page.click("#open-objective"); await page.click(".technical > summary"); await page.until("document.querySelector('.technical').open"); } },
};

/** Opens a state; returns the page, the mock, and a function that closes both. */
export async function openState(browser, name, width = 1280, height = 800) {
  const { before, after, change, name: who, outage, ...options } = STATES[name];
  const mock = await new Mock(options).listen();
  mock.change = change ?? {};
  before?.(mock);
  const page = await browser.page(await browser.person());
  page.outage = outage ?? false;
  await page.resize(width, height);
  if (who) await page.send("Page.addScriptToEvaluateOnNewDocument", { source: `localStorage.setItem("querist/name", ${JSON.stringify(who)})` });
  await page.open(mock.url);
  await after(page, mock);
  if (!outage) await panelDrawn(page);
  return { page, mock, async close() { await page.close(); await mock.close(); } };
}
