// Patches of the live status.

import assert from "node:assert/strict";
import { test } from "node:test";
import { patched } from "../../live.js";

test("a patch replaces, adds and removes members and appends to arrays", () => {
  const status = { answered: 1, by_class: { ham: 1, old: 2 }, curve: [1, 2], store: { problem: null } };
  const next = patched(status, [
    { op: "replace", path: "/answered", value: 2 },
    { op: "add", path: "/by_class/spam", value: 1 },
    { op: "remove", path: "/by_class/old" },
    { op: "add", path: "/curve/-", value: 3 },
    { op: "remove", path: "/curve/0" },
    { op: "replace", path: "/store/problem", value: "full" },
  ]);
  assert.deepEqual(next, { answered: 2, by_class: { ham: 1, spam: 1 }, curve: [2, 3], store: { problem: "full" } });
  assert.deepEqual(status, { answered: 1, by_class: { ham: 1, old: 2 }, curve: [1, 2], store: { problem: null } }, "the original is unchanged");
});

test("labels with a slash or a tilde are found", () => {
  assert.deepEqual(patched({ by_class: { "a/b": 1, "~1": 1 } }, [{ op: "replace", path: "/by_class/a~1b", value: 2 }, { op: "replace", path: "/by_class/~01", value: 3 }]), { by_class: { "a/b": 2, "~1": 3 } });
});

test("the whole document can be replaced", () => {
  assert.deepEqual(patched({ a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }]), { b: 2 });
});

test("a path that leads nowhere is an error and not a silent change", () => {
  assert.throws(() => patched({ a: 1 }, [{ op: "replace", path: "/b/c", value: 2 }]), TypeError);
});
