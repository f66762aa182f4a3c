/** The dialog about the objective: the loss and rule in use, and the claims proved about them. */

import { byId, foreign, make } from "./dom.js";
import { closing } from "./settings.js";

export async function openObjective(get) {
  const dialog = byId("objective");
  dialog.replaceChildren(...closing(dialog, "objective-title", "What is being optimised"), make("p", { class: "muted", text: "Fetching…" }));
  if (!dialog.open) dialog.showModal();
  try {
    dialog.lastChild.replaceWith(certificate(await get("/api/certificate")));
  } catch (trouble) {
    dialog.lastChild.replaceWith(make("p", { class: "caution" }, "It cannot be fetched now. ", foreign(trouble.message)));
  }
}

function certificate({ loss, rule, objective, certified, why_not: whyNot, claims, constants, advice }) {
  const facts = [["Loss", loss], ["Rule for asking", rule]].flatMap(([name, value]) => [make("dt", { text: name }), make("dd", {}, foreign(String(value)))]);
  return make("div", {},
    make("dl", { class: "facts" }, ...facts),
    ...objective.split("\n").map((each) => make("p", {}, foreign(each))),
    whyNot ? make("p", { class: "muted" }, "Nothing is certified: ", foreign(whyNot), ".") : null,
    advice.length > 0 ? part("What follows", make("ul", { class: "follows" }, ...advice.map((each) => make("li", {}, ...coded(each))))) : null,
    claims.length > 0 ? part("Claims", make("ul", { class: "claims" }, ...claims.map((claim) => row(claim)))) : null,
    constants ? part("Constants", numbers(constants)) : null,
    certified ? part("The same at the command line", make("p", { class: "muted", text: "The claims and numbers are of this very pair:" }), make("code", { class: "command", dir: "ltr", text: certified.command })) : null);
}

const part = (title, ...content) => make("section", {}, make("h3", { text: title }), ...content);

/** Formats a sentence with names in backticks. */
const coded = (sentence) => sentence.split("`").map((piece, place) => (place % 2 === 1 ? make("code", { text: piece }) : foreign(piece)));

/** Creates the row of a claim: the verdict and its reason, with the facts on demand. */
function row({ claim, verdict, because: [reason, ...facts] }) {
  return make("li", {},
    make("p", {}, make("span", { class: `verdict ${verdict}` }, foreign(verdict)), " ", make("strong", {}, foreign(claim))),
    make("p", { class: "muted" }, foreign(reason ?? "")),
    facts.length > 0 ? make("details", {}, make("summary", { text: "From" }), make("ul", {}, ...facts.map((fact) => make("li", {}, foreign(fact))))) : null);
}

const CONSTANTS = {
  u_max: "Largest U", psi_at_1: "ψ at 1", neg_h2_half: "−H″(1/2)", lipschitz: "Steepest slope of the equivalent loss", loss_lipschitz: "Steepest slope of the loss",
};

/** Lists the constants with all digits, as the command prints them. */
function numbers(constants) {
  const known = Object.entries(CONSTANTS).filter(([key]) => constants[key] !== null && constants[key] !== undefined);
  return make("dl", { class: "constants" }, ...known.flatMap(([key, name]) => [make("dt", { text: name }), make("dd", { text: String(constants[key]) })]));
}
