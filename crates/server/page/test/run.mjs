// Runs the browser tests of the labeling page: node run.mjs [--server PATH_TO_querist] [--only WORD]
// Without --server, the tests that need the real server are skipped, with a message.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Browser } from "./browser.mjs";
import * as page from "./tests-page.mjs";
import * as real from "./tests-server.mjs";

const argument = (name) => {
  const place = process.argv.indexOf(name);
  return place < 0 ? null : process.argv[place + 1];
};

/** Returns the script of axe-core in the locked version, which is installed in the target folder. */
function axe() {
  const here = fileURLToPath(new URL("./", import.meta.url));
  const folder = join(here, "../../../../target/page-test");
  const script = join(folder, "node_modules/axe-core/axe.min.js");
  const lock = readFileSync(join(here, "package-lock.json"), "utf8");
  const installed = join(folder, "package-lock.json");
  if (!existsSync(script) || readFileSync(installed, "utf8") !== lock) {
    mkdirSync(folder, { recursive: true });
    for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(here, name), join(folder, name));
    execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  }
  return readFileSync(script, "utf8");
}

const server = argument("--server") && resolve(argument("--server"));
const only = argument("--only");
const begun = Date.now();
process.on("exit", real.cleanUp);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));
const browser = await Browser.launch(process.env.CHROMIUM ?? "chromium");
const tools = { browser, server, axe: axe() };
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
if (!server) console.log(`left out, for want of --server: ${Object.keys(real.TESTS).length} tests with the real server`);
console.log(`${passed} passed, ${failed} failed, ${((Date.now() - begun) / 1000).toFixed(0)} s`);
// A failed test may have left a server running, so exit explicitly.
process.exit(failed > 0 ? 1 : 0);
