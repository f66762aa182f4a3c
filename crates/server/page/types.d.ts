/**
 * The types of the page: the replies of the server, as its OpenAPI document describes them, and the page's own state.
 * Only the type checker reads this file; it is not served.
 */

// ---- replies of the server

export type Task = "binary" | "classes" | "number";

export interface Annotator { name: string; answered: number }

/** An estimate with its interval. The server sends null for a number that is not finite. */
export interface Score { value: number | null; low: number | null; high: number | null }

export interface ClassScores { class: string; precision: Score | null; recall: Score | null; f1: Score | null }

export interface Estimate {
  accuracy: number | null;
  low: number | null;
  high: number | null;
  anytime_low: number | null;
  anytime_high: number | null;
  effective_n: number | null;
  warning: string | null;
  r_squared?: Score | null;
  mean_loss: Score | null;
  clipped_loss?: (Score & { limit: number | null }) | null;
  classes: ClassScores[];
}

/** The estimate that random sampling would have reached with its number of labels. */
export interface Twin { accuracy: number | null; low: number | null; high: number | null; labels: number; at_equal_labels: Score | null }

/** A point of the learning curve. */
export interface CurvePoint extends Score { labels: number }

export interface StopAdvice { advice: "go on" | "stop"; why: string }

export interface Agreement { items: number; share: number | null; kappa: number | null }

export interface Status {
  title: string;
  run: string;
  task: Task;
  labels: string[];
  annotators: Annotator[];
  annotator_count: number;
  answers: number;
  answered: number;
  skipped: number;
  unsure: number;
  pending: number;
  by_class: Record<string, number>;
  pool: number;
  budget: number | null;
  overlap: number;
  rate_per_minute: number | null;
  seconds_left: number | null;
  /** The method of drawing items; `top` has no estimates. */
  draw: "scan" | "top";
  estimate: Estimate | null;
  twin: Twin | null;
  curve: CurvePoint[];
  stop: StopAdvice;
  agreement: Agreement | null;
  model: { answers: number; kind: "linear" | "kernel" | "forest"; fitting: boolean; cold: boolean };
  data_problems?: string[];
  store: { writable: boolean; problem: string | null };
  /** The annotator of the link, if each annotator has one. Not in the event stream. */
  you?: string | null;
}

export interface Field { name: string; kind: "text" | "number" | "category" | "image"; value: string | number | null }

/** An item as the server assigns it. */
export interface WireItem {
  ask: number;
  item: string;
  probability: number | null;
  why: string;
  fields: Field[];
  lease_seconds: number;
}

export interface Left {
  unasked: number;
  leased: number;
  next_free_seconds: number | null;
  for_others: number;
  answered: number;
}

export type NoItemReason = "finished" | "yours-done" | "all-leased" | "budget";

export interface NextReply { items: WireItem[]; left: Left; reason: NoItemReason | null }

export type AnswerStatus = "saved" | "repeated" | "late" | "refused";

export interface Acknowledgement { ask: number; key: string; status: AnswerStatus; answer?: number; why?: string }

/** The reply to an undo. The outbox adds `why` if the server rejects it. */
export interface UndoReply { undone: { answer: number; ask: number } | null; items: WireItem[]; why?: string }

export interface HeartbeatReply { held: number[]; lost: number[] }

/** An earlier answer of the annotator. */
export interface HistoryRow {
  answer: number;
  ask: number;
  item: string;
  label: string | number | null;
  skip: boolean;
  unsure: boolean;
  preview: string;
}

export interface Claim { claim: string; verdict: "proved" | "refuted" | "unknown"; because: string[] }

export interface Certificate {
  loss: string;
  rule: string;
  objective: string;
  certified: { command: string } | null;
  why_not: string | null;
  claims: Claim[];
  constants: Record<string, unknown> | null;
  advice: string[];
}

/** One operation of a JSON Patch (RFC 6902). */
export interface PatchOperation { op: string; path: string; value?: unknown }

/** The replies by path. */
export interface GetReplies { "/api/status": Status; "/api/certificate": Certificate; "/api/history": HistoryRow[] }

export interface PostReplies {
  "/api/next": NextReply;
  "/api/answers": Acknowledgement[];
  "/api/undo": UndoReply;
  "/api/heartbeat": HeartbeatReply;
  "/api/release": object;
}

/** Sends a GET request to a path, with parameters for the query string. */
export type Get = <P extends keyof GetReplies>(path: P, parameters?: Record<string, string>) => Promise<GetReplies[P]>;

export type Post = <P extends keyof PostReplies>(path: P, body: unknown) => Promise<PostReplies[P]>;

// ---- the state of the page

export type ErrorKind = "unreachable" | "signed-out" | "store" | "other-run" | "refused";

/** The annotator's choice: exactly one of the three. */
export interface Verdict { label?: string | number; skip?: true; unsure?: true }

/** An item that the page holds, with the end of its lease by the local clock. */
export interface Item extends WireItem { deadline: number; lost?: boolean }

export type AnswerState = "waiting" | "saved" | "late" | "refused";

/** An answer of the annotator. Answers of an earlier page have no key, and no item to show. */
export interface Answer {
  key: string | null;
  answer?: number;
  ask: number;
  item: string;
  verdict: Verdict;
  preview: string;
  shown?: Item;
  /** The answer that this one replaced in a review. */
  replaced?: Answer;
  state: AnswerState;
}

interface EntryCommon {
  /** Defines the order of sending. */
  id: string;
  key: string;
  annotator: string;
  /** True if the server may have the entry. Not stored: entries of an earlier page may always have been sent. */
  sent?: boolean;
}

export interface AnswerEntry extends EntryCommon { kind: "answer"; ask: number; item: string; preview: string; verdict: Verdict }

export interface UndoEntry extends EntryCommon {
  kind: "undo";
  /** The ask of the answer to undo; none for the last answer that the server has. */
  ask?: number;
  /** The server's number of the answer to undo. */
  answer?: number;
  /** The key of the answer to undo, for as long as its number is unknown. */
  of?: string;
}

export type Entry = AnswerEntry | UndoEntry;

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

export type NewEntry = WithoutId<Entry>;

export interface RejectedEntry extends AnswerEntry { why: string }

/** Detail of the event "settled": the server replied to an entry. */
export type Settled =
  | { kind: "answer"; entry: AnswerEntry; reply: Acknowledgement }
  | { kind: "undo"; entry: UndoEntry; reply: UndoReply };

/** The part of the browser's `Storage` that the page uses. */
export interface KeyValueStore {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** The part of an error that messages depend on. */
export interface Problem { kind: ErrorKind; message: string; hint?: string }

/** The part of the outbox that messages depend on. */
export interface Pending { size: number; error: Problem | null; volatile?: boolean }

export interface Preferences { why: boolean; size: string; marks: boolean }

/** The part of a keyboard event that key bindings depend on. */
export interface KeyPress { key: string; ctrlKey?: boolean; metaKey?: boolean; altKey?: boolean; shiftKey?: boolean }

// ---- elements

export type Child = Node | string | null | undefined;

type AttributeValue = string | number | boolean | null | undefined | ((event: MouseEvent) => void);

export interface Attributes { onclick?: (event: MouseEvent) => void; [name: string]: AttributeValue }
