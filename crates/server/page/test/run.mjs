// Runs the browser tests of the labeling page: node run.mjs [--server PATH_TO_querist] [--only WORD]
// Without --server, the tests that need the real server are skipped, with a message.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Browser } from "./browser.mjs";
import { install } from "./install.mjs";
import * as page from "./tests-page.mjs";
import * as real from "./tests-server.mjs";

const argument = (name) => {
  const index = process.argv.indexOf(name);
  return index < 0 ? null : process.argv[index + 1];
};

const server = argument("--server") && resolve(argument("--server"));
const only = argument("--only");
const begun = Date.now();
process.on("exit", real.cleanUp);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));
const browser = await Browser.launch(process.env.CHROMIUM ?? "chromium");
const axe = readFileSync(join(install(), "node_modules/axe-core/axe.min.js"), "utf8");
const tools = { browser, server, axe };
let failed = 0;
let passed = 0;

const tests = [...Object.entries(page.TESTS), ...(server ? Object.entries(real.TESTS) : [])].filter(([name]) => !only || name.includes(only));

async function work() {
  for (let next = tests.shift(); next; next = tests.shift()) {
    const [name, test] = next;
    const start = Date.now();
    try {
      const note = await test(tools);
      passed += 1;
      console.log(`ok     ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)${note ? `: ${note}` : ""}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}\n${error.stack}`);
    }
  }
}

// Tests mostly wait, so three run in parallel.
await Promise.all([work(), work(), work()]);
await browser.close();
if (!server) console.log(`skipped without --server: ${Object.keys(real.TESTS).length} tests with the real server`);
console.log(`${passed} passed, ${failed} failed, ${((Date.now() - begun) / 1000).toFixed(0)} s`);
// A failed test may have left a server running, so exit explicitly.
process.exit(failed > 0 ? 1 : 0);
