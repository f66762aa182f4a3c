// The session of an annotator with its outbox: what the annotator answered is what the server has, whatever fails in between.

import assert from "node:assert/strict";
import { before, mock, test } from "node:test";
import { Simulation, fakeTimers, randomFrom } from "./fake.mjs";

before(fakeTimers);

const answersOf = ({ server }) => server.posts.filter(({ pathname }) => pathname === "/api/answers").flatMap(({ body }) => body);

test("an answer shows the next item at once and reaches the server", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  assert.equal(page.session.current.item, "row0");
  assert.equal(page.session.answer({ label: "spam" }), true);
  assert.equal(page.session.current.item, "row1");
  assert.equal(page.session.answers[0].state, "waiting");
  await simulation.saved(page);
  assert.equal(page.session.answers[0].state, "saved");
  assert.deepEqual([...simulation.verdicts()], [[1, "spam"]]);
});

test("without an item there is nothing to answer", async () => {
  const simulation = new Simulation({ items: [] });
  const page = await simulation.open();
  assert.equal(page.session.answer({ label: "spam" }), false);
  assert.equal(page.session.reason, "finished");
  assert.equal(page.outbox.size, 0);
});

test("offline, the prefetched items can be answered, and arrive in order later", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  simulation.network = "down";
  const labels = ["ham", "spam", "ham", "spam"];
  for (const label of labels) page.session.answer({ label });
  await simulation.pass(30_000);
  assert.equal(page.outbox.size, 4);
  assert.equal(page.outbox.error.kind, "unreachable");
  simulation.network = "up";
  await simulation.saved(page);
  assert.equal(page.outbox.error, null);
  assert.deepEqual(simulation.server.records.map(({ label }) => label), labels);
});

test("an answer whose reply was lost is sent again under the same key and counts once", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  simulation.network = "no-reply";
  page.session.answer({ label: "spam" });
  await simulation.pass(3_000);
  simulation.network = "up";
  await simulation.saved(page);
  const keys = answersOf(simulation).map(({ key }) => key);
  assert.ok(keys.length > 1);
  assert.equal(new Set(keys).size, 1);
  assert.equal(simulation.server.records.length, 1);
  assert.equal(page.session.answers[0].state, "saved");
});

test("an answered item does not come back while its answer waits", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  simulation.server.trouble = (path) => (path === "/api/answers" ? { status: 507, message: "The disk is full." } : null);
  const seen = [];
  for (let index = 0; index < 20; index += 1) {
    await simulation.pass(500);
    seen.push(page.session.current.item);
    page.session.answer({ label: "ham" });
  }
  assert.equal(new Set(seen).size, 20);
  assert.equal(page.outbox.error.kind, "store");
});

test("after a reload, waiting answers are sent, and their items are not shown", async () => {
  const simulation = new Simulation();
  const first = await simulation.open();
  simulation.network = "down";
  first.session.answer({ label: "spam" });
  first.session.answer({ skip: true });
  await simulation.pass(1_000);
  simulation.close(first);
  simulation.network = "up";
  const second = await simulation.open();
  assert.deepEqual(second.session.answers.map(({ verdict }) => verdict), [{ skip: true }, { label: "spam" }]);
  await simulation.saved(second);
  assert.equal(second.session.current.item, "row2");
  assert.deepEqual([...simulation.verdicts()], [[1, "spam"], [2, "skip"]]);
});

test("undo of an answer that was never sent sends nothing", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  simulation.network = "silent";
  page.session.answer({ label: "ham" });
  await simulation.pass(100);
  page.session.answer({ label: "spam" });
  page.session.undo();
  assert.equal(page.session.current.item, "row1");
  assert.deepEqual(page.outbox.entries().map(({ kind, ask }) => [kind, ask]), [["answer", 1]]);
});

test("undo while the answer is being sent withdraws it afterwards", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  page.session.answer({ label: "ham" });
  page.session.undo();
  assert.equal(page.session.current.item, "row0");
  await simulation.saved(page);
  assert.equal(simulation.verdicts().size, 0);
  assert.equal(page.session.current.item, "row0");
});

test("undo of a changed answer that was never sent also withdraws the answer that it replaced", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  page.session.answer({ label: "ham" });
  await simulation.saved(page);
  page.session.answer({ label: "ham" });
  page.session.review(page.session.answers[0]);
  page.session.answer({ label: "spam" });
  page.session.undo();
  await simulation.saved(page);
  assert.deepEqual([...simulation.verdicts()], [[1, "ham"]]);
});

test("undo after a reload brings the item back from the server", async () => {
  const simulation = new Simulation();
  const first = await simulation.open();
  first.session.answer({ label: "ham" });
  await simulation.saved(first);
  simulation.close(first);
  const second = await simulation.open();
  second.session.undo();
  await simulation.saved(second);
  await simulation.pass(100);
  assert.equal(second.session.current.item, "row0");
  assert.equal(simulation.verdicts().size, 0);
});

test("entries stay in order if the clock is set back before a reload", async () => {
  const simulation = new Simulation();
  const first = await simulation.open();
  simulation.network = "down";
  first.session.answer({ label: "ham" });
  await simulation.pass(1_000);
  simulation.close(first);
  mock.timers.setTime(Date.now() - 3_600_000);
  const second = await simulation.open();
  second.session.undo();
  simulation.network = "up";
  await simulation.saved(second);
  assert.equal(simulation.verdicts().size, 0);
});

test("undo without an answer shows a message", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  page.session.undo();
  await simulation.saved(page);
  assert.deepEqual(page.messages, ["Nothing to undo."]);
});

test("a reviewed answer is replaced in place, or kept", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  for (const label of ["ham", "ham", "ham"]) page.session.answer({ label });
  await simulation.saved(page);
  page.session.review(page.session.answers[1]);
  assert.equal(page.session.current.item, "row1");
  page.session.keep();
  assert.equal(page.session.current.item, "row3");
  page.session.review(page.session.answers[1]);
  page.session.answer({ label: "spam" });
  assert.deepEqual(page.session.answers.map(({ verdict }) => verdict.label), ["ham", "spam", "ham"]);
  await simulation.saved(page);
  assert.deepEqual([...simulation.verdicts().values()], ["ham", "spam", "ham"]);
});

test("a rejected answer is reported once, and the others are saved", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  simulation.server.asks[1].ask = 500;
  for (const label of ["ham", "spam", "ham"]) page.session.answer({ label });
  await simulation.saved(page);
  assert.deepEqual([...simulation.verdicts().keys()], [1, 3]);
  assert.deepEqual(page.outbox.rejected.map(({ ask }) => ask), [2]);
  assert.equal(page.session.answers[1].state, "refused");
  simulation.close(page);
  const again = await simulation.open();
  assert.equal(again.outbox.rejected.length, 1, "also after a reload");
  again.outbox.dismissRejected();
  assert.equal((await simulation.open()).outbox.rejected.length, 0);
});

test("an answer for another ledger stays in the browser", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  simulation.server.run = "another";
  page.session.answer({ label: "ham" });
  await simulation.pass(5_000);
  assert.equal(page.outbox.error.kind, "other-run");
  assert.equal(page.outbox.size, 1);
  assert.equal(simulation.server.records.length, 0);
});

test("a lost lease is reported once; an answer to its item still counts", async () => {
  const simulation = new Simulation();
  const page = await simulation.open();
  for (const ask of simulation.server.asks.slice(0, 5)) Object.assign(ask, { holder: "bob", until: Date.now() + 90_000 });
  await page.session.heartbeat();
  await page.session.heartbeat();
  assert.equal(page.messages.length, 1);
  assert.equal(page.session.current.item, "row0");
  assert.equal(page.session.current.lost, true);
  await simulation.pass(100);
  page.session.answer({ label: "ham" });
  assert.equal(page.session.current.item, "row5", "the other lost items were dropped");
  await simulation.saved(page);
  assert.deepEqual([...simulation.verdicts()], [[1, "ham"]]);
});

test("offline, a lease expires by the local clock", async () => {
  const simulation = new Simulation({ lease: 10 });
  const page = await simulation.open();
  simulation.network = "down";
  await page.session.heartbeat();
  assert.equal(page.session.current.lost ?? false, false);
  await simulation.pass(11_000);
  await page.session.heartbeat();
  assert.equal(page.session.current.lost, true);
});

test("another name releases the items and gets no replies of the first", async () => {
  const simulation = new Simulation();
  const first = await simulation.open("ada");
  first.session.leave();
  await simulation.pass(100);
  assert.ok(simulation.server.asks.every(({ holder }) => holder === null));
  const second = await simulation.open("bob");
  assert.equal(second.session.current.item, "row0");
});

test("two tabs: an item that was answered in one disappears from the other", async () => {
  const simulation = new Simulation();
  const one = await simulation.open();
  const other = await simulation.open();
  one.session.answer({ label: "ham" });
  const [entry] = one.outbox.entries();
  other.outbox.heard({ key: one.outbox.prefix + entry.id, newValue: JSON.stringify(entry) });
  assert.equal(other.session.current.item, "row1");
  await simulation.saved(one);
  other.outbox.heard({ key: one.outbox.prefix + entry.id, newValue: null });
  assert.equal(other.outbox.size, 0);
  assert.equal(simulation.server.records.length, 1);
});

/** Performs one random action of an annotator or the network; updates the expected verdicts. */
async function act(simulation, page, random, expected) {
  const { session } = page;
  const choice = Math.floor(random() * 10);
  const verdict = [{ label: "ham" }, { label: "spam" }, { skip: true }, { unsure: true }][Math.floor(random() * 4)];
  const name = verdict.label ?? Object.keys(verdict)[0];
  const [last] = session.answers;
  if (choice <= 3 && session.current) {
    expected.set(session.current.ask, name);
    session.answer(verdict);
  } else if (choice === 4 && last) {
    expected.delete(last.ask);
    session.undo();
  } else if (choice === 5 && last) {
    const reviewed = session.answers[Math.floor(random() * session.answers.length)];
    session.review(reviewed);
    if (session.reviewed) session.answer(verdict);
    if (reviewed.shown) expected.set(reviewed.ask, name);
    else expected.delete(reviewed.ask);
  } else if (choice === 6) {
    simulation.network = ["up", "up", "down", "no-reply"][Math.floor(random() * 4)];
  } else if (choice === 7 && random() < 0.3) {
    simulation.close(page);
    return simulation.open();
  } else {
    await simulation.pass(Math.floor(random() * 15) * 100);
  }
  return page;
}

test("whatever happens, the server ends with the annotator's answers", async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = randomFrom(seed);
    const simulation = new Simulation({ lease: 100_000 });
    const expected = new Map();
    let page = await simulation.open();
    for (let step = 0; step < 60; step += 1) page = await act(simulation, page, random, expected);
    simulation.network = "up";
    await simulation.saved(page);
    assert.equal(page.outbox.size, 0, `seed ${seed}`);
    const sorted = (map) => [...map].sort(([a], [b]) => a - b);
    assert.deepEqual(sorted(simulation.verdicts()), sorted(expected), `seed ${seed}`);
    simulation.close(page);
  }
});
