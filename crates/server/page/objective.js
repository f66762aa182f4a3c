/** The page on the objective: which loss and rule are in use, and what is proved about the pair. */

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

function certificate({ loss, rule, objective, claims }) {
  const facts = [["Loss", loss], ["Rule for asking", rule]].flatMap(([name, value]) => [make("dt", { text: name }), make("dd", {}, foreign(String(value)))]);
  return make("div", {},
    make("p", {}, foreign(objective)),
    make("dl", { class: "facts" }, ...facts),
    claims.length > 0 ? make("ul", { class: "claims" }, ...claims.map((claim) => row(claim))) : make("p", { class: "muted", text: "Nothing is claimed." }));
}

const row = ({ claim, verdict, because }) =>
  make("li", {},
    make("p", {}, make("span", { class: "verdict" }, foreign(verdict)), " ", make("strong", {}, foreign(claim))),
    make("p", { class: "muted" }, foreign(because)));
