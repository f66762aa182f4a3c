/** The sentences about saving and about errors: the indicator in the header, and the notice above the item. */

import { count, many, sentence } from "./words.js";

/** @import { Answer, ErrorKind, Item, Pending, Problem, RejectedEntry, Status, Verdict } from "./types.d.ts" */

/** @type {Record<ErrorKind, string>} */
const INDICATOR = { unreachable: "Offline", "signed-out": "Signed out", store: "Not saved", "other-run": "Other session", refused: "Not saved" };

/**
 * Returns the state of saving and its text: saved, saving, or the error with the number of pending answers.
 * @param {Pending} outbox
 * @param {{ error: Problem | null } | null} session
 * @returns {{ state: "saved" | "saving" | "waiting", text: string }}
 */
export function savingState(outbox, session) {
  if (outbox.size > 0 && outbox.error) {
    const alone = outbox.volatile ? ", keep this tab open" : "";
    return { state: "waiting", text: `${INDICATOR[outbox.error.kind]}, ${count(outbox.size)} waiting${alone}` };
  }
  if (outbox.size > 0) return { state: "saving", text: "Saving" };
  const error = outbox.error ?? session?.error ?? null;
  return error ? { state: "waiting", text: INDICATOR[error.kind] } : { state: "saved", text: "Saved" };
}

/**
 * Describes the answers that wait in this browser.
 * @param {number} waiting
 */
export const waitingText = (waiting) => (waiting > 0
  ? `${many(waiting, "answer")} ${waiting === 1 ? "is" : "are"} stored in this browser and will be sent as soon as possible.`
  : "All your earlier answers are saved.");

/** @typedef {"dismiss" | "next" | "reload"} NoticeAction */

/** @typedef {{ text: string, verdict?: Verdict, after?: string, action?: { kind: NoticeAction, text: string } }} Notice */

/**
 * @typedef {object} NoticeState
 * @property {Pending & { rejected: RejectedEntry[] }} outbox
 * @property {{ current: Item | null, reviewed: Answer | null, error: Problem | null } | null} session
 * @property {Pick<Status, "store">} status
 * @property {number} elsewhere The number of answers for other runs in this browser.
 * @property {string} message The last message for the annotator, or "".
 */

/**
 * Returns the most important notice, or null. Without an item, the stage shows the error instead.
 * @param {NoticeState} state
 * @returns {Notice | null}
 */
export function noticeFor({ outbox, session, status, elsewhere, message }) {
  const [rejected] = outbox.rejected;
  if (rejected) {
    return { text: `An answer was rejected (${rejected.preview}): ${sentence(rejected.why)}`, action: { kind: "dismiss", text: "Dismiss" } };
  }
  if (!session?.current) return null;
  if (session.reviewed) return { text: "You answered ", verdict: session.reviewed.verdict, after: ". Choose again, or keep your answer." };
  if (session.current.lost) {
    return { text: "Your time for this item ran out, so someone else may get it. Your answer still counts.", action: { kind: "next", text: "Next item" } };
  }
  const error = errorNotice(outbox.error, session.error, status);
  if (error) return error;
  if (message) return { text: message };
  return elsewhere > 0 ? { text: elsewhereText(elsewhere) } : null;
}

/**
 * @param {Problem | null} sending
 * @param {Problem | null} fetching
 * @param {Pick<Status, "store">} status
 * @returns {Notice | null}
 */
function errorNotice(sending, fetching, { store }) {
  if (sending?.kind === "signed-out") {
    return { text: "You are signed out. Open the link that querist label printed. Your answers stay in this browser until then." };
  }
  if ((sending ?? fetching)?.kind === "other-run") {
    return { text: "This address now serves another session. Your answers stay in this browser until the earlier one is back.", action: { kind: "reload", text: "Open the new session" } };
  }
  if (sending?.kind !== "store" && store.writable) return null;
  const why = (sending?.kind === "store" ? sending.message : store.problem) || "the ledger is read-only";
  return { text: `Answers can't be saved right now: ${sentence(why)} Yours stay in this browser and will be sent later.` };
}

/** @param {number} n */
const elsewhereText = (n) =>
  `${many(n, "answer")} for another session ${n === 1 ? "is" : "are"} stored in this browser and will be sent when that session is served here again.`;
