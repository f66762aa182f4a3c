/** Requests to the server. Every failure becomes a `RequestError` of one of five kinds. */

/** @import { ErrorKind, Get, Post } from "./types.d.ts" */

/** The timeout of a request. Afterwards its answers are sent again under the same keys. */
const TIMEOUT_MS = 15_000;

/**
 * A failed request. `kind` is "unreachable" (no reply, or an incomplete one), "signed-out", "store" (the server cannot save
 * answers now), "other-run" (the server now has another ledger) or "refused" (a retry would not help).
 */
export class RequestError extends Error {
  /**
   * @param {ErrorKind} kind
   * @param {string} message
   * @param {string} hint
   * @param {number} status
   */
  constructor(kind, message, hint = "", status = 0) {
    super(message);
    this.kind = kind;
    this.hint = hint;
    this.status = status;
  }
}

/**
 * Returns a caught value as a `RequestError`; any other error counts as an unreachable server, so that it is retried.
 * @param {unknown} caught
 */
export const requestError = (caught) => (caught instanceof RequestError ? caught : new RequestError("unreachable", String(caught)));

/** @type {string | null} */
let run = null;

/**
 * Sets the ledger that later POST requests are meant for; a server of another ledger rejects them.
 * @param {string} name
 */
export function belongTo(name) {
  run = name;
}

/** @type {Get} */
export const get = (path, parameters = {}) => {
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return request(query === "" ? path : `${path}?${query}`, { method: "GET" });
};

/** @type {Post} */
export const post = (path, body) =>
  request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Querist": "1", ...(run === null ? {} : { "X-Querist-Run": run }) },
    body: JSON.stringify(body),
  });

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function request(path, options) {
  let response;
  let text;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    response = await fetch(path, { ...options, signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
    text = await response.text();
  } catch {
    throw new RequestError("unreachable", "Can't reach the server. You may be offline.");
  }
  if (!response.ok) throw errorOf(response.status, text);
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new RequestError("unreachable", "The server's reply was incomplete.");
  }
}

/**
 * @param {number} status
 * @param {string} text
 */
function errorOf(status, text) {
  const { code, message, hint } = parseError(text);
  return new RequestError(kindOf(status, code), message || `The server replied with status ${status}.`, hint, status);
}

/**
 * Returns the kind of an error. 401 means that the cookie is not valid; 5xx, 408 and 429 are temporary. The code decides
 * where the status is ambiguous: a busy server can still save answers.
 * @param {number} status
 * @param {string} code
 * @returns {ErrorKind}
 */
function kindOf(status, code) {
  if (code === "other-run") return "other-run";
  if (code === "busy") return "unreachable";
  if (status === 401) return "signed-out";
  if (status === 503 || status === 507) return "store";
  return status >= 500 || status === 408 || status === 429 ? "unreachable" : "refused";
}

/** @param {string} text */
function parseError(text) {
  try {
    const { error } = JSON.parse(text);
    return { code: String(error.code ?? ""), message: String(error.message ?? ""), hint: String(error.hint ?? "") };
  } catch {
    return { code: "", message: "", hint: "" };
  }
}
