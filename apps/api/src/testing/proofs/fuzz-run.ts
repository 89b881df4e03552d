import type { FuzzCase } from "./fuzz-cases.ts";
import { judgeFuzz, requestOf } from "./fuzz-judge.ts";
import type { FuzzPools } from "./fuzz-pools.ts";
import type { RawAnswer } from "./operation-call.ts";

/** Counts of the answers, so that a run can show that it reached what it was to test. */
export class FuzzTally {
  readonly #statuses = new Map<string, number>();
  readonly #pairs = new Set<string>();
  /** Bodies with planted defects whose refusal named every one. */
  allDefectsNamed = 0;

  /** Operations that were answered 503, each with the answer's code. */
  readonly away: string[] = [];

  /** Request ids, with what was sent, of mutations that a known caller was refused: each must be in the audit trail. */
  readonly refusedMutations = new Map<string, string>();

  note(fuzz: FuzzCase, answer: RawAnswer, isKnown: boolean, sent: string): void {
    const isRefusal = [400, 403, 404, 409, 412, 413, 415, 422].includes(answer.status);
    const isPlain = fuzz.method === null && fuzz.pathTail === "";
    const requestId = answer.headers.get("X-Request-Id");
    if (isKnown && isRefusal && isPlain && fuzz.operation.audit !== null && requestId !== null)
      this.refusedMutations.set(requestId, `${fuzz.operation.id} ${answer.status} ${sent}`);
    if (answer.status === 503)
      this.away.push(`${fuzz.operation.id} ${/"code":"(\w+)"/.exec(answer.text)?.[1]}`);
    const status = String(answer.status);
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    if (fuzz.operation.statuses.includes(answer.status)) this.#pairs.add(`${fuzz.operation.id} ${status}`);
    if (fuzz.body.kind === "defects" && answer.status === 422) this.allDefectsNamed += 1;
  }

  count(status: RegExp): number {
    return [...this.#statuses].reduce((sum, [name, count]) => sum + (status.test(name) ? count : 0), 0);
  }

  statuses(): string[] {
    return [...this.#statuses.keys()];
  }

  /** Documented pairs of operation and status that were seen. */
  pairs(): string[] {
    return [...this.#pairs];
  }

  summary(): string {
    const statuses = [...this.#statuses].sort().map(([status, count]) => `${count}x${status}`);
    return (
      `${statuses.join(" ")}; ${this.#pairs.size} documented pairs of operation and status; ` +
      `${this.allDefectsNamed} bodies with every planted defect named`
    );
  }
}

/**
 * Sends one request and checks its answer against the contract.
 *
 * @throws Error with what is wrong, and with the request as it was sent
 */
export async function fuzzOnce(
  app: { request(target: string, init: RequestInit): Response | Promise<Response> },
  fuzz: FuzzCase,
  pools: FuzzPools,
  tally: FuzzTally,
): Promise<void> {
  const actor = pools.actors.find((candidate) => candidate.name === fuzz.actor);
  if (actor === undefined) throw new Error(`no actor ${fuzz.actor}`);
  const { method, target, headers, body } = await requestOf(fuzz, actor, pools);
  const response = await app.request(target, { method, headers, ...(body === null ? {} : { body }) });
  const answer = { status: response.status, headers: response.headers, text: await textOf(response) };
  const defects = judgeFuzz(fuzz, actor, answer);
  if (defects.length > 0)
    throw new Error(
      `${defects.join("; ")}\n${method} ${target.slice(0, 500)} as ${actor.name}\n` +
        `headers ${JSON.stringify(fuzz.headers).slice(0, 500)}\n` +
        `body ${describeBody(body)}\nanswer ${answer.status} ${answer.text.slice(0, 1000)}`,
    );
  tally.note(
    fuzz,
    answer,
    actor.permissions.has("authenticated"),
    `${target.slice(0, 300)} ${JSON.stringify(fuzz.headers).slice(0, 300)} ${describeBody(body).slice(0, 300)}`,
  );
}

/** The whole text; nothing of an event stream, because it lasts as long as its job. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.text();
  await response.body?.cancel();
  return "";
}

function describeBody(body: string | Uint8Array | null): string {
  if (body === null) return "none";
  return typeof body === "string" ? body.slice(0, 1000) : Buffer.from(body).toString("hex").slice(0, 400);
}
