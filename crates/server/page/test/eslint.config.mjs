// The linter's rules for the page and its tests. The type checker reports undefined names in the page.

import { createRequire } from "node:module";
import { join } from "node:path";
import { install } from "./install.mjs";

// The dependencies are not in a folder above this file.
const require = createRequire(join(install(), "package.json"));
const js = require("@eslint/js");
const globals = require("globals");

const RULES = {
  "array-callback-return": "error",
  eqeqeq: "error",
  "max-lines": ["error", 500],
  "max-lines-per-function": ["error", { max: 60, skipComments: true }],
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-shadow": "error",
  "no-unused-vars": "error",
  "no-useless-assignment": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": "error",
  "prefer-template": "error",
};

export default [
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  { files: ["*.js"], languageOptions: { globals: globals.browser }, rules: RULES },
  { files: ["test/**/*.mjs"], languageOptions: { globals: globals.node }, rules: RULES },
];
