/** Requests to the server. Every failure becomes a `Trouble` of one of five kinds. */

/** The timeout of a request in milliseconds; afterwards its answers are sent again under the same keys. */
const PATIENCE = 15_000;

/**
 * A failed request. `kind` is "unreachable" (no reply, or an incomplete one), "signed-out", "store" (the server cannot save
 * answers now), "other-run" (the server now has another ledger) or "refused" (a retry would not help).
 */
export class Trouble extends Error {
  constructor(kind, message, hint = "", status = 0) {
    super(message);
    this.kind = kind;
    this.hint = hint;
    this.status = status;
  }
}

let run = null;

/** Sets the ledger that later POST requests are meant for; a server of another ledger rejects them. */
export function belongTo(name) {
  run = name;
}

export const get = (path) => request(path, { method: "GET" });

export const post = (path, body) =>
  request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Querist": "1", ...(run === null ? {} : { "X-Querist-Run": run }) },
    body: JSON.stringify(body),
  });

async function request(path, options) {
  let response;
  let text;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    response = await fetch(path, { ...options, signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
    text = await response.text();
  } catch {
    throw new Trouble("unreachable", "The server does not answer.");
  }
  if (!response.ok) throw trouble(response.status, text);
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new Trouble("unreachable", "The server's answer was cut short.");
  }
}

/** Kinds by error code, where the status is ambiguous: a busy server can still save answers. */
const KINDS = { "other-run": "other-run", busy: "unreachable" };

function trouble(status, text) {
  const { code, message, hint } = told(text);
  return new Trouble(KINDS[code] ?? kindOf(status), message || `The server answered ${status}.`, hint, status);
}

/** Returns the kind of a status. 401 means that the cookie is not valid; 5xx, 408 and 429 are temporary. */
function kindOf(status) {
  if (status === 401) return "signed-out";
  if (status === 503 || status === 507) return "store";
  return status >= 500 || status === 408 || status === 429 ? "unreachable" : "refused";
}

function told(text) {
  try {
    const { error } = JSON.parse(text);
    return { code: error.code, message: String(error.message ?? ""), hint: String(error.hint ?? "") };
  } catch {
    return { code: null, message: "", hint: "" };
  }
}
