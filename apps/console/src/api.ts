import { type ApiClient, asProblem, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import type { ConsoleContext } from "./console-context.ts";
import { forwarded } from "./forwarded.ts";
import type { Session } from "./session.ts";
import type { ConsoleSettings } from "./settings.ts";

export type Problem = Schemas["Problem"];

/** The API does not accept the session any more: expired, revoked or signed out elsewhere. */
export class SessionEnded extends Error {
  override readonly name = "SessionEnded";
}

/** The API did not answer, or answered with a temporary failure. Whether a mutation took effect is unknown. */
export class ApiAway extends Error {
  override readonly name = "ApiAway";
  readonly requestId: string | null;

  constructor(message: string, requestId: string | null, options?: ErrorOptions) {
    super(message, options);
    this.requestId = requestId;
  }
}

/** The API refused the request, with its reason. */
export class ApiRefused extends Error {
  override readonly name = "ApiRefused";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
    this.problem = problem;
  }
}

/** The result of a change, with what a form must show beside its fields. */
export type Outcome<Data> =
  | { readonly kind: "done"; readonly data: Data; readonly replayed: boolean }
  | { readonly kind: "refused"; readonly problem: Problem }
  | {
      readonly kind: "away";
      readonly requestId: string | null;
      /** A rate limit, rather than an outage. */
      readonly tooMany: boolean;
    };

type Answer<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response };

/**
 * A client that acts as the session's user, or without a user, on behalf of the visitor.
 *
 * @param timeoutMs of a call; longer for one whose answer takes its time
 */
export function clientFor(
  settings: Pick<ConsoleSettings, "apiUrl" | "visitorKey" | "trustedProxies">,
  session: Session | null,
  context: ConsoleContext,
  timeoutMs = 15_000,
): ApiClient {
  const send = context.get("answersSeen")?.send ?? context.get("sendToApi");
  return createApiClient({
    baseUrl: settings.apiUrl,
    send,
    ...(session === null ? {} : { token: session.token }),
    ...(session?.operator && session.organisation !== null
      ? { organisationId: session.organisation.id }
      : {}),
    timeoutMs,
    // No retries: an early error page is better than a page that hangs, and the next poll of the browser is the retry.
    readRetries: 0,
    headers: { "x-request-id": context.get("requestId"), ...forwarded(context, settings) },
  });
}

/** A longer list is not usable as a choice; its entries are then shown by their identifiers. */
const mostOfAList = 2000;
const pageLength = 200;

/**
 * A complete list, read page by page, for a page that must offer it as a choice or needs its names. At most 2,000
 * items.
 *
 * @throws SessionEnded, ApiAway, ApiRefused
 */
export async function readAll<Item>(
  ask: (page: {
    readonly limit: number;
    readonly cursor?: string;
  }) => Promise<Answer<{ readonly items: Item[]; readonly next_cursor: string | null }>>,
): Promise<{ readonly items: Item[] }> {
  const items: Item[] = [];
  let page: { readonly limit: number; readonly cursor?: string } = { limit: pageLength };
  while (items.length < mostOfAList) {
    const { items: next, next_cursor: cursor } = await read(ask(page));
    for (const item of next) items.push(item);
    if (cursor === null) break;
    page = { limit: pageLength, cursor };
  }
  return { items };
}

/**
 * The data of a read.
 *
 * @throws SessionEnded, ApiAway, ApiRefused
 */
export async function read<Data>(call: Promise<Answer<Data>>): Promise<Data> {
  const outcome = await attempt(call);
  if (outcome.kind === "done") return outcome.data;
  if (outcome.kind === "away") throw new ApiAway("the API does not answer", outcome.requestId);
  throw new ApiRefused(outcome.problem);
}

/** As `read`, but null where the API asks to try again later because of too many others at the same time. */
export async function unlessTooMany<Data>(call: Promise<Answer<Data>>): Promise<Data | null> {
  const outcome = await attempt(call);
  return outcome.kind === "away" && outcome.tooMany ? null : read(call);
}

/** As `read`, but null for what does not exist. */
export async function readOrNull<Data>(call: Promise<Answer<Data>>): Promise<Data | null> {
  const outcome = await attempt(call);
  if (outcome.kind === "refused" && outcome.problem.status === 404) return null;
  if (outcome.kind === "done") return outcome.data;
  if (outcome.kind === "away") throw new ApiAway("the API does not answer", outcome.requestId);
  throw new ApiRefused(outcome.problem);
}

/**
 * Sends a change and returns its result.
 *
 * @throws SessionEnded when the token is refused
 */
export async function attempt<Data>(call: Promise<Answer<Data>>): Promise<Outcome<Data>> {
  let answer: Answer<Data>;
  try {
    answer = await call;
  } catch {
    // No connection, a timeout, or an answer that is not the API's: the same for the user.
    return { kind: "away", requestId: null, tooMany: false };
  }
  const { response } = answer;
  if (response.ok)
    return {
      kind: "done",
      data: answer.data as Data,
      replayed: response.headers.get("idempotency-replayed") === "true",
    };
  const problem = asProblem(answer.error);
  if (response.status === 401) throw new SessionEnded();
  // An unreachable region is not an unreachable API: its refusal is shown.
  const isAway = response.status >= 500 && problem?.code !== "region_unavailable";
  if (problem === null || isAway || response.status === 429)
    return {
      kind: "away",
      requestId: problem?.request_id ?? response.headers.get("x-request-id"),
      tooMany: response.status === 429,
    };
  return { kind: "refused", problem };
}

/**
 * The problem of an attempt that the page can show: a conflict or wrong fields.
 *
 * @throws ApiAway, ApiRefused for everything else
 */
export function conflictOf(outcome: Exclude<Outcome<unknown>, { readonly kind: "done" }>): Problem {
  if (outcome.kind === "away") throw new ApiAway("the API does not answer", outcome.requestId);
  const { problem } = outcome;
  if (problem.status !== 409 && problem.status !== 412 && problem.status !== 422)
    throw new ApiRefused(problem);
  return problem;
}
