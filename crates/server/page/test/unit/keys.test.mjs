// Key bindings.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Keys } from "../../keys.js";
import { MemoryStore } from "../../store.js";

const press = (key, more = {}) => ({ key, ...more });

test("digits and first letters answer, in either case", () => {
  const keys = new Keys(["ham", "spam"], new MemoryStore());
  for (const key of ["1", "h", "H"]) assert.equal(keys.actionFor(press(key)), "label:0");
  for (const key of ["2", "s"]) assert.equal(keys.actionFor(press(key)), "label:1");
  assert.equal(keys.actionFor(press(" ")), "skip");
  assert.equal(keys.actionFor(press("u")), "unsure");
  assert.equal(keys.actionFor(press("Backspace")), "undo");
  assert.equal(keys.actionFor(press("x")), null);
});

test("no two actions have the same default key", () => {
  for (const labels of [["up", "under", "u"], ["a", "a1", "A"], ["スパム", "ハム"], ["", "😀", "123"], Array.from({ length: 40 }, (_, index) => `label ${index}`)]) {
    const { actions } = new Keys(labels, new MemoryStore());
    const used = actions.flatMap(({ key, digit }) => [key, digit]).filter((key) => key !== null);
    assert.equal(new Set(used).size, used.length, JSON.stringify(labels));
  }
});

test("the tenth label has the digit 0, later ones have none", () => {
  const keys = new Keys(Array.from({ length: 12 }, (_, index) => `${index}`), new MemoryStore());
  assert.equal(keys.actionFor(press("0")), "label:9");
  assert.deepEqual(keys.of("label:10"), []);
});

test("Ctrl-Z always undoes; other combinations do nothing", () => {
  const keys = new Keys(["ham"], new MemoryStore());
  keys.enable(false);
  for (const modifier of ["ctrlKey", "metaKey"]) assert.equal(keys.actionFor(press("z", { [modifier]: true })), "undo");
  assert.equal(keys.actionFor(press("z", { ctrlKey: true, shiftKey: true })), null);
  assert.equal(keys.actionFor(press("h", { ctrlKey: true })), null);
  assert.equal(keys.actionFor(press("h")), null);
  keys.enable(true);
  assert.equal(keys.actionFor(press("h", { altKey: true })), null);
});

test("an assigned key is remembered for these labels only", () => {
  const store = new MemoryStore();
  assert.equal(new Keys(["ham", "spam"], store).assign("label:0", "X"), null);
  assert.equal(new Keys(["ham", "spam"], store).actionFor(press("x")), "label:0");
  assert.equal(new Keys(["ham", "eggs"], store).actionFor(press("x")), null);
});

test("a key that is reserved or in use is rejected and changes nothing", () => {
  const keys = new Keys(["ham", "spam"], new MemoryStore());
  for (const key of ["Tab", "Escape", "Enter", "/", "?"]) assert.match(keys.assign("label:0", key), /reserved/);
  assert.match(keys.assign("label:0", "s"), /already used for spam/);
  assert.match(keys.assign("label:0", "2"), /already used for spam/);
  assert.equal(keys.assign("label:0", "h"), null, "its own key is no conflict");
  assert.equal(keys.actionFor(press("s")), "label:1");
});

test("reset restores the defaults, also after a reload", () => {
  const store = new MemoryStore();
  const keys = new Keys(["ham"], store);
  keys.assign("label:0", "x");
  keys.reset();
  assert.equal(keys.actionFor(press("h")), "label:0");
  assert.equal(new Keys(["ham"], store).actionFor(press("x")), null);
});

test("single keys stay off after a reload", () => {
  const store = new MemoryStore();
  new Keys(["ham"], store).enable(false);
  const keys = new Keys(["ham"], store);
  assert.equal(keys.actionFor(press("1")), null);
  assert.equal(keys.aria("label:0"), "");
  assert.equal(keys.aria("undo"), "Control+Z");
});

test("malformed stored keys are ignored", () => {
  const store = new MemoryStore();
  store.setItem("querist/keys/[\"ham\"]", "{not json");
  assert.equal(new Keys(["ham"], store).actionFor(press("h")), "label:0");
  store.setItem("querist/keys/[\"ham\"]", "{\"label:0\":5}");
  assert.equal(new Keys(["ham"], store).actionFor(press("h")), "label:0");
});

test("a full storage keeps a new key until the page is closed", () => {
  const store = new MemoryStore();
  store.setItem = () => { throw new Error("full"); };
  const keys = new Keys(["ham"], store);
  assert.equal(keys.assign("label:0", "x"), null);
  assert.equal(keys.actionFor(press("x")), "label:0");
});
