import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import type { ApiCaller } from "../api-caller.ts";
import type { PathIds } from "./recipes.ts";

/** A call of an operation, before it is sent. */
export type OperationCall = {
  readonly operation: OperationId;
  readonly path: PathIds;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

export type RawAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

/** The path and query below the versioned root. */
export function targetOf({ operation, path, query }: OperationCall): string {
  const filled = operations[operation].path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const id = path[name];
    if (id === undefined) throw new Error(`${operation} needs ${name}`);
    return encodeURIComponent(id);
  });
  const search = new URLSearchParams(query ?? {}).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

/** Sends the call; an event stream is read only if it ends by itself. */
export async function callOperation(caller: ApiCaller, call: OperationCall): Promise<RawAnswer> {
  const { method } = operations[call.operation];
  const response = await caller.app.request(`/api/v1${targetOf(call)}`, {
    method: method.toUpperCase(),
    headers: {
      ...(caller.token === null ? {} : { Authorization: `Bearer ${caller.token}` }),
      ...(call.body === undefined ? {} : { "Content-Type": "application/json" }),
      ...caller.headers,
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** An audit trail repeats the caller's own refused requests: that leaks nothing. */
export function withoutOwnAttempts(answer: RawAnswer): RawAnswer {
  if (answer.status !== 200 || !answer.text.includes('"outcome":"refused"')) return answer;
  const { items } = JSON.parse(answer.text) as { items: { outcome?: string }[] };
  const kept = items.filter((item) => item.outcome !== "refused");
  return { ...answer, text: JSON.stringify({ items: kept, next_cursor: null }) };
}
