// One run of the conformance suite: makes calls that the driver makes, and records where the answer differs
// from what the driver relies on.

import type { AnswerOf, CallName, ParametersOf, ProxmoxClient } from "../client.ts";
import type { ErrorName } from "../driver-calls/call-facts.ts";
import { DRIVER_CALLS } from "../driver-calls/driver-calls.ts";
import { ProxmoxError } from "../errors.ts";
import type { Runtime } from "../runtime.ts";
import { waitForTask } from "../task.ts";
import { parseUpid } from "../upid.ts";

export type ProbeResult = {
  readonly call: CallName;
  /** The case that is tried with it: "a number that is taken". */
  readonly what: string;
  /** The refusals that the driver relies on; empty for a call that must succeed. */
  readonly refusals: readonly ErrorName[];
  /** Null: as the driver expects. */
  readonly differs: string | null;
  readonly tried: boolean;
};

const TASK_MILLISECONDS = 20 * 60_000;

export class ProbeRun {
  readonly results: ProbeResult[] = [];
  readonly client: ProxmoxClient;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  readonly #onResult: (result: ProbeResult) => void;
  /** Tasks that were begun and whose end was not seen: they are waited for before anything is cleaned up. */
  readonly openTasks = new Set<string>();

  constructor(
    client: ProxmoxClient,
    runtime: Runtime,
    signal: AbortSignal,
    onResult: (result: ProbeResult) => void,
  ) {
    this.client = client;
    this.runtime = runtime;
    this.signal = signal;
    this.#onResult = onResult;
  }

  /** Makes a call that must succeed. Returns its answer, or null when it differs; `check` says how. */
  answers<Call extends CallName>(
    call: Call,
    what: string,
    parameters: ParametersOf<Call>,
    check: (answer: AnswerOf<Call>) => string | null = () => null,
    answeredBy?: (endpoint: URL) => void,
  ): Promise<AnswerOf<Call> | null> {
    return this.succeeds(call, what, () => this.#make(this.client, call, parameters, answeredBy), check);
  }

  /** The same for a call that cannot be made once and at once. */
  async succeeds<Call extends CallName>(
    call: Call,
    what: string,
    make: () => Promise<unknown>,
    check: (answer: AnswerOf<Call>) => string | null = () => null,
  ): Promise<AnswerOf<Call> | null> {
    const { answer, error } = await this.#try(make);
    const differs =
      error === null
        ? (wrongKind(call, answer) ?? told(() => check(answer as AnswerOf<Call>)))
        : `is refused: ${wordsOf(error)}`;
    this.#keep({ call, what, refusals: [], differs, tried: true });
    return differs === null ? (answer as AnswerOf<Call>) : null;
  }

  /** Makes a call that must be refused, with one of these errors. */
  refuses<Call extends CallName>(
    call: Call,
    what: string,
    parameters: ParametersOf<Call>,
    refusals: readonly ErrorName[],
    client = this.client,
  ): Promise<void> {
    return this.fails(call, what, () => this.#make(client, call, parameters), refusals);
  }

  async fails(
    call: CallName,
    what: string,
    make: () => Promise<unknown>,
    refusals: readonly ErrorName[],
  ): Promise<void> {
    const { error } = await this.#try(make);
    const differs =
      error === null
        ? `is not refused, expected ${refusals.join(" or ")}`
        : refusals.some((name) => name === error.name)
          ? null
          : `is ${wordsOf(error)}, expected ${refusals.join(" or ")}`;
    this.#keep({ call, what, refusals, differs, tried: true });
  }

  /** Reports that a call could not be tried, and why. */
  leave(call: CallName, what: string, why: string): void {
    this.#keep({ call, what, refusals: [], differs: `was not tried: ${why}`, tried: false });
  }

  #keep(result: ProbeResult): void {
    this.results.push(result);
    this.#onResult(result);
  }

  async #try(make: () => Promise<unknown>): Promise<{ answer: unknown; error: ProxmoxError | null }> {
    this.signal.throwIfAborted();
    try {
      return { answer: await make(), error: null };
    } catch (error) {
      this.signal.throwIfAborted();
      if (!(error instanceof ProxmoxError)) throw error;
      return { answer: null, error };
    }
  }

  /** A task counts with its end: what is refused at once by one version is refused in the task by another. */
  async #make<Call extends CallName>(
    client: ProxmoxClient,
    call: Call,
    parameters: ParametersOf<Call>,
    answeredBy?: (endpoint: URL) => void,
  ): Promise<unknown> {
    // A change is never left in the middle: its task would not be known, and what it makes not be removed.
    const signal = call.startsWith("GET ") ? this.signal : undefined;
    const answer = await client.call(call, parameters, { signal, answeredBy });
    if (DRIVER_CALLS[call].answer === "task" && typeof answer === "string") await this.#wait(answer);
    return answer;
  }

  async #wait(upid: string): Promise<void> {
    this.openTasks.add(upid);
    const { runtime, signal } = this;
    try {
      await waitForTask(this.client, upid, { runtime, signal, deadlineMilliseconds: TASK_MILLISECONDS });
    } finally {
      if (!signal.aborted) this.openTasks.delete(upid);
    }
  }
}

function wrongKind(call: CallName, answer: unknown): string | null {
  const shown = JSON.stringify(answer)?.slice(0, 200);
  switch (DRIVER_CALLS[call].answer) {
    case "task":
      return parseUpid(answer) !== null ? null : `answers ${shown}, expected a UPID`;
    case "nothing":
      return answer === null || answer === undefined ? null : `answers ${shown}, expected nothing`;
    case "data":
      return answer !== null && answer !== undefined ? null : `answers ${shown}, expected data`;
    case "socket":
      return null;
  }
}

/** A check that fails on an answer of another shape has found a difference, too. */
function told(check: () => string | null): string | null {
  try {
    return check();
  } catch (error) {
    return `answers in another shape: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function wordsOf(error: ProxmoxError): string {
  return `${error.name} (${error.message.slice(0, 500)})`;
}
