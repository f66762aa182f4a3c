/** The dialog about the choice of items: a plain explanation, with the loss, the rule and their certificate on demand. */

import { requestError } from "./api.js";
import { byId, foreign, make } from "./dom.js";
import { dialogHead } from "./settings.js";

/** @import { Certificate, Child, Claim, Get, Status } from "./types.d.ts" */

const INTRODUCTIONS = {
  scan: [
    "Querist learns a model from your answers and picks the next items at random. An item is more likely to be picked if its answer should teach the model more, which is mostly where the model is unsure.",
    "The probability of every pick is recorded, so the estimates hold for all items and not only for those you saw.",
  ],
  top: [
    "Querist learns a model from your answers and always picks the item that the model is least sure of.",
    "Such picks are not random, so the answers say nothing about the items you do not see, and there are no estimates.",
  ],
};

/**
 * @param {Get} get
 * @param {Status["draw"]} draw
 */
export async function openObjective(get, draw) {
  const dialog = byId("objective", HTMLDialogElement);
  const last = make("p", { class: "muted", text: "Loading…" });
  dialog.replaceChildren(
    dialogHead(dialog, "objective-title", "How items are chosen"), ...INTRODUCTIONS[draw].map((text) => make("p", { text })), last);
  if (!dialog.open) dialog.showModal();
  try {
    last.replaceWith(details(await get("/api/certificate")));
  } catch (caught) {
    last.replaceWith(make("p", { class: "caution" }, "Can't load the details. ", foreign(requestError(caught).message)));
  }
}

/** @param {Certificate} certificate */
function details({ loss, rule, objective, certified, why_not: whyNot, claims, constants, advice }) {
  const facts = Object.entries({ Loss: loss, "Query rule": rule }).flatMap(([name, value]) => [make("dt", { text: name }), make("dd", {}, foreign(value))]);
  return make("details", { class: "technical" }, make("summary", { text: "Details for experts" }),
    make("dl", { class: "facts" }, ...facts),
    ...objective.split("\n").map((each) => make("p", {}, foreign(each))),
    whyNot ? make("p", { class: "muted" }, "There is no certificate: ", foreign(whyNot), ".") : null,
    advice.length > 0 ? part("Consequences", make("ul", { class: "follows" }, ...advice.map((each) => make("li", {}, ...coded(each))))) : null,
    claims.length > 0 ? part("Claims", make("ul", { class: "claims" }, ...claims.map((claim) => row(claim)))) : null,
    constants ? part("Constants", numbers(constants)) : null,
    certified ? part("On the command line", make("p", { class: "muted", text: "This command prints the same claims and constants:" }), make("code", { class: "command", dir: "ltr", text: certified.command })) : null);
}

/**
 * @param {string} title
 * @param {...Child} content
 */
const part = (title, ...content) => make("section", {}, make("h3", { text: title }), ...content);

/**
 * Formats a sentence with names in backticks.
 * @param {string} text
 */
const coded = (text) => text.split("`").map((piece, index) => (index % 2 === 1 ? make("code", { text: piece }) : foreign(piece)));

/**
 * Creates the row of a claim: the verdict and its reason, with the facts on demand.
 * @param {Claim} claim
 */
function row({ claim, verdict, because: [reason, ...facts] }) {
  return make("li", {},
    make("p", {}, make("span", { class: `verdict ${verdict}` }, foreign(verdict)), " ", make("strong", {}, foreign(claim))),
    make("p", { class: "muted" }, foreign(reason ?? "")),
    facts.length > 0 ? make("details", {}, make("summary", { text: "Based on" }), make("ul", {}, ...facts.map((fact) => make("li", {}, foreign(fact))))) : null);
}

const CONSTANTS = {
  u_max: "Largest U", psi_at_1: "ψ at 1", neg_h2_half: "−H″(1/2)", lipschitz: "Steepest slope of the equivalent loss", loss_lipschitz: "Steepest slope of the loss",
};

/**
 * Lists the constants with all digits, as the command prints them.
 * @param {Record<string, unknown>} constants
 */
function numbers(constants) {
  const present = Object.entries(CONSTANTS).filter(([key]) => constants[key] !== null && constants[key] !== undefined);
  return make("dl", { class: "constants" }, ...present.flatMap(([key, name]) => [make("dt", { text: name }), make("dd", { text: String(constants[key]) })]));
}
