/** The indicator of whether everything is saved, which is always visible. */

import { announce, byId, setText } from "./dom.js";
import { savingState } from "./notices.js";

/** @import { Pending, Problem } from "./types.d.ts" */

/** @type {"saved" | "waiting"} */
let before = "saved";

/**
 * @param {Pending} outbox
 * @param {{ error: Problem | null } | null} session
 */
export function showSaving(outbox, session) {
  const { state, text } = savingState(outbox, session);
  byId("saving").dataset.state = state;
  setText(byId("saving-text"), text);
  // Announcing each "saving" and "saved" would be too much; only errors and their end are announced.
  if (state === "waiting" && before !== "waiting") announce(text);
  if (state === "saved" && before === "waiting") announce("Everything is saved again.");
  if (state !== "saving") before = state;
}
