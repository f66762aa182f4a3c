/** Requests to the server. Every way to fail becomes a `Trouble` of one of five kinds. */

/** How long a request may take before it counts as lost; the answer in it is sent again under the same key. */
const PATIENCE = 15_000;

/**
 * kind: "unreachable" (no answer, or a broken one), "signed-out", "store" (the server cannot keep answers now),
 * "other-run" (another ledger is served here now), "refused" (asking again would not help).
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

/** From now on every request says for which ledger it is; the server of another one refuses it. */
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

/** Errors that their code tells apart from others with the same status: a busy server still keeps answers. */
const KINDS = { "other-run": "other-run", busy: "unreachable" };

function trouble(status, text) {
  const { code, message, hint } = told(text);
  return new Trouble(KINDS[code] ?? kindOf(status), message || `The server answered ${status}.`, hint, status);
}

/** 401 means that the cookie is not known; 5xx, 408 and 429 pass with time. */
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
