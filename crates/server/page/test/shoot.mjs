// Takes screenshots of every state at three widths, light and dark: node shoot.mjs FOLDER [STATE...]

import { mkdirSync } from "node:fs";
import { Browser } from "./browser.mjs";
import { STATES, openState } from "./states.mjs";

const [folder, ...chosen] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await Browser.launch(process.env.CHROMIUM ?? "chromium");
for (const name of chosen.length > 0 ? chosen : Object.keys(STATES)) {
  const { page, close } = await openState(browser, name);
  for (const [width, height] of [[1280, 800], [768, 1024], [320, 640]]) {
    await page.resize(width, height);
    for (const scheme of ["light", "dark"]) {
      await page.scheme(scheme);
      await page.painted();
      await page.screenshot(`${folder}/${name}-${width}-${scheme}.png`);
    }
  }
  if (page.complaints.length > 0) console.log(name, page.complaints);
  await close();
}
await browser.close();
