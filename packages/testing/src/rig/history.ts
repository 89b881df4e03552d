import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

/**
 * Requests and their results, in the order in which they were seen. Each operation begins with `invoke` and
 * ends with one other event of the same process: `ok` happened, `fail` did not happen, `info` may have
 * happened (no answer, or one that leaves it open). An effect without a request here, such as a row found at
 * the end, is a lone `ok`.
 */
export type HistoryEvent = {
  readonly index: number;
  readonly type: "invoke" | "ok" | "fail" | "info";
  /** The caller; each has one operation at a time. */
  readonly process: string;
  /** The requested operation: "enqueue", "read", "claim". */
  readonly operation: string;
  /** The resource it is about. */
  readonly key: string | null;
  readonly value: unknown;
  readonly atMs: number;
};

type EventInput = Pick<HistoryEvent, "process" | "operation" | "value"> & { readonly key?: string | null };

/** An operation that has begun. */
export type OpenOperation = {
  ok(value: unknown): void;
  fail(reason: unknown): void;
  info(reason: unknown): void;
};

/** Records a history in memory and, if a file is named, in it: one JSON object a line. */
export class History {
  readonly #file: string | null;
  readonly #nowMs: () => number;
  readonly #events: HistoryEvent[] = [];

  constructor({
    file = null,
    nowMs = () => performance.now(),
  }: { file?: string | null; nowMs?: () => number } = {}) {
    this.#file = file;
    this.#nowMs = nowMs;
    if (file !== null) writeFileSync(file, "");
  }

  get events(): readonly HistoryEvent[] {
    return this.#events;
  }

  invoke(told: EventInput): OpenOperation {
    this.#note("invoke", told);
    let isOpen = true;
    const end = (type: HistoryEvent["type"]) => (value: unknown) => {
      if (!isOpen) throw new Error(`${told.operation} of ${told.process} has ended already`);
      isOpen = false;
      this.#note(type, { ...told, value });
    };
    return { ok: end("ok"), fail: end("fail"), info: end("info") };
  }

  /** Something that was found to be so, without a question that would have caused it. */
  effect(told: EventInput): void {
    this.#note("ok", told);
  }

  #note(type: HistoryEvent["type"], { key = null, ...told }: EventInput): void {
    const event = { index: this.#events.length, type, key, ...told, atMs: this.#nowMs() };
    this.#events.push(event);
    if (this.#file !== null) appendFileSync(this.#file, `${JSON.stringify(event)}\n`);
  }
}

export function readHistory(file: string): HistoryEvent[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as HistoryEvent);
}
