// Installs the locked development dependencies of the page in target/page-test: node install.mjs prints that folder.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("./", import.meta.url));

/** Installs the dependencies unless they already are, and returns the folder with `node_modules`. */
export function install() {
  const folder = fileURLToPath(new URL("../../../../target/page-test", import.meta.url));
  // npm writes this file last, so a broken installation is repeated.
  const complete = join(folder, "node_modules/.package-lock.json");
  const lock = join(folder, "package-lock.json");
  if (existsSync(complete) && readFileSync(lock, "utf8") === readFileSync(join(HERE, "package-lock.json"), "utf8")) return folder;
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(HERE, name), join(folder, name));
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  return folder;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(install());
