/** The indicator of whether everything is saved, which is always visible. */

import { announce, byId, setText } from "./dom.js";
import { count } from "./words.js";

const TROUBLES = { unreachable: "Offline", "signed-out": "Signed out", store: "Not saved", "other-run": "Other ledger", refused: "Not saved" };

/** Returns the state and its text: saved, saving, or the trouble with the number of pending answers. */
export function savingState(outbox, session) {
  const trouble = outbox.trouble ?? session?.trouble ?? null;
  if (outbox.size > 0 && outbox.trouble) {
    const alone = outbox.volatile ? ", keep this tab open" : "";
    return { state: "waiting", text: `${TROUBLES[trouble.kind]}, ${count(outbox.size)} waiting${alone}` };
  }
  if (outbox.size > 0) return { state: "saving", text: "Saving" };
  if (trouble) return { state: "waiting", text: TROUBLES[trouble.kind] };
  return { state: "saved", text: "Saved" };
}

let before = "saved";

export function showSaving(outbox, session) {
  const { state, text } = savingState(outbox, session);
  byId("saving").dataset.state = state;
  setText(byId("saving-text"), text);
  // Announcing each "saving" and "saved" would be too much; only trouble and its end are announced.
  if (state === "waiting" && before !== "waiting") announce(text);
  if (state === "saved" && before === "waiting") announce("Everything is saved again.");
  if (state !== "saving") before = state;
}
