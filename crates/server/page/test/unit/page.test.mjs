// Marks, pictures, the search for labels, the storage, and requests.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestError, belongTo, get, post, requestError } from "../../api.js";
import { chosenBy, matching } from "../../filter.js";
import { hiddenIn, marked } from "../../marks.js";
import { newKey, waitingIn } from "../../outbox.js";
import { sourceOf } from "../../pictures.js";
import { MemoryStore, openStore, readPreferences, writePreferences } from "../../store.js";

test("invisible characters are counted; parts of an emoji are not", () => {
  assert.equal(hiddenIn("49\u200b.90 \u202eabc"), 2);
  assert.equal(hiddenIn("👩‍🚀 and ❤️"), 0);
  assert.equal(hiddenIn("plain text\n"), 0);
});

test("marks replace invisible parts, and the rest of the text is unchanged", () => {
  const shown = (text) => marked(text).map((piece) => piece.text).join("");
  assert.equal(shown("two  spaces, a tab\tend "), "two··spaces, a tab→\tend·");
  assert.equal(shown("a\u200bb"), "aU+200Bb");
  assert.equal(shown("line\r\nnext"), "line↵\nnext");
  for (const text of ["", "plain", "one space"]) assert.deepEqual(marked(text), text === "" ? [] : [{ text, isMark: false }]);
});

test("pictures come from this server or from the data, never from elsewhere", () => {
  assert.equal(sourceOf("a small #1 picture.png"), "/images/a%20small%20%231%20picture.png");
  assert.equal(sourceOf("folder/x.png"), "/images/folder/x.png");
  assert.equal(sourceOf("/images/x.png"), "/images/x.png");
  assert.equal(sourceOf("data:image/png;base64,AAAA"), "data:image/png;base64,AAAA");
  for (const value of ["https://outside.example/x.png", "//outside.example/x.png", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd"]) assert.equal(sourceOf(value), null, value);
});

test("Enter in the search chooses the label that was typed, or the only match", () => {
  const labels = ["Chad", "Chile", "China", "Ch"];
  assert.deepEqual(matching(labels, " chi "), ["Chile", "China"]);
  assert.equal(chosenBy(labels, "ch"), "Ch");
  assert.equal(chosenBy(labels, "chil"), "Chile");
  assert.equal(chosenBy(labels, "chi"), null);
  assert.equal(chosenBy(labels, "x"), null);
  assert.equal(chosenBy(labels, "  "), null);
});

test("a browser whose storage fails gets one in memory", () => {
  const broken = () => { throw new Error("blocked"); };
  assert.equal(openStore(broken).lasting, false);
  const full = new MemoryStore();
  full.setItem = broken;
  const { store, lasting } = openStore(() => full);
  assert.equal(lasting, false);
  store.setItem("a", "1");
  assert.deepEqual([store.length, store.key(0), store.getItem("a"), store.key(1)], [1, "a", "1", null]);
  assert.equal(openStore(() => new MemoryStore()).lasting, true);
});

test("preferences survive a reload; malformed ones are the defaults", () => {
  const store = new MemoryStore();
  const defaults = { why: true, size: "1", marks: false };
  assert.deepEqual(readPreferences(store), defaults);
  writePreferences(store, { why: false, size: "1.5", marks: true });
  assert.deepEqual(readPreferences(store), { why: false, size: "1.5", marks: true });
  for (const text of ["null", "[", "{\"why\":1,\"size\":\"huge\"}"]) {
    store.setItem("querist/preferences", text);
    assert.deepEqual(readPreferences(store), defaults, text);
  }
});

test("keys of answers are random UUIDs", () => {
  const keys = Array.from({ length: 1000 }, () => newKey());
  assert.equal(new Set(keys).size, 1000);
  for (const key of keys) assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("waiting answers are counted for all runs", () => {
  const store = new MemoryStore();
  for (const name of ["querist/outbox/a/1", "querist/outbox/b/1", "querist/refused/a/1", "other"]) store.setItem(name, "{}");
  assert.equal(waitingIn(store), 2);
});

/** Makes every request receive this reply; returns the requests. */
function replyWith(make) {
  const requests = [];
  globalThis.fetch = async (path, init) => {
    requests.push({ path, ...init });
    return make();
  };
  return requests;
}

test("every failure of a request is of one kind", async () => {
  const failure = (code) => JSON.stringify({ error: { code, message: "why", hint: "" } });
  const cases = [
    [401, failure("x"), "signed-out"], [503, failure("x"), "store"], [503, failure("busy"), "unreachable"], [507, failure("x"), "store"],
    [409, failure("other-run"), "other-run"], [400, failure("x"), "refused"], [404, "not json", "refused"], [429, "", "unreachable"],
    [500, "", "unreachable"], [200, "{\"cut", "unreachable"],
  ];
  for (const [status, body, kind] of cases) {
    replyWith(() => new Response(body, { status }));
    const error = await get("/api/status").then(() => null, (caught) => caught);
    assert.ok(error instanceof RequestError);
    assert.equal(error.kind, kind, `${status} ${body}`);
    assert.notEqual(error.message, "");
  }
  replyWith(() => { throw new TypeError("network"); });
  await assert.rejects(get("/api/status"), { kind: "unreachable", message: "Can't reach the server. You may be offline." });
  assert.equal(requestError(new Error("x")).kind, "unreachable");
});

test("requests carry the run they are meant for, and names are encoded", async () => {
  const requests = replyWith(() => new Response("[]"));
  belongTo("run-1");
  await post("/api/next", { n: 1 });
  await get("/api/history", { annotator: "A & B/Ł", n: "10" });
  assert.equal(requests[0].headers["X-Querist-Run"], "run-1");
  assert.equal(requests[1].path, "/api/history?annotator=A%20%26%20B%2F%C5%81&n=10");
});
