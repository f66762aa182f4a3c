// Latency from key press to paint: node latency.mjs PATH_TO_querist [ANSWERS] [MILLISECONDS_BETWEEN]
// Labels the demo at a human pace, and prints the time from each key press until the next item is painted.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Browser, pause } from "./browser.mjs";

const [program, answers = "300", between = "300"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "querist-latency-"));
const options = ["label", "--demo", "--port", "0", "--no-browser", "--json", "--ledger", join(folder, "demo.ledger")];
const server = spawn(resolve(program), options, { stdio: ["ignore", "pipe", "inherit"] });
const line = await new Promise((done) => createInterface({ input: server.stdout }).once("line", done));
const browser = await Browser.launch(process.env.CHROMIUM ?? "chromium");
const page = await browser.page(await browser.person());
await page.open(JSON.parse(line).url);
await page.until("document.querySelector('.item') !== null");
// The start is the event's own timestamp; the end is after the frame that follows the change.
await page.evaluate(`
  window.took = [];
  window.worked = [];
  let pressed = null;
  document.addEventListener("keydown", (event) => { pressed = { at: event.timeStamp, heard: performance.now() }; }, true);
  new MutationObserver(() => {
    if (pressed === null) return;
    const { at, heard } = pressed;
    pressed = null;
    window.worked.push(performance.now() - heard);
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.took.push(performance.now() - at);
      channel.port2.postMessage(null);
    });
  }).observe(document.querySelector("#stage"), { childList: true });
`);
for (let answered = 0; answered < Number(answers); answered += 1) {
  const text = await page.text("#stage .passage");
  await page.press(/\d{5}|£|free|win|txt|claim|prize/i.test(text ?? "") ? "s" : "h");
  await pause(Number(between));
}
const summary = async (name) => {
  const took = (await page.evaluate(`window.${name}`)).sort((a, b) => a - b);
  const at = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))].toFixed(1);
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`;
};
console.log(`${await page.text("#progress .figure")}, ${between} ms apart
from the key to the screen: ${await summary("took")}
of that the page's own work: ${await summary("worked")}`);
await browser.close();
server.kill();
rmSync(folder, { recursive: true, force: true });
