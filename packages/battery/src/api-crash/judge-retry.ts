import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import type { BoundaryCase, Reference } from "./boundary-cases.ts";
import type { HttpAnswer } from "./killable-api.ts";
import { masked } from "./row-changes.ts";

export type RetriedCase = {
  readonly each: Pick<BoundaryCase, "isAfterCommit" | "isAfterAsking"> & {
    readonly mutation: Pick<BoundaryCase["mutation"], "name" | "operation">;
  };
  readonly reference: Reference;
  /** The same request at the restarted API. */
  readonly retried: HttpAnswer | null;
  /** The answer to a second repetition, where an Idempotency-Key identifies the request. */
  readonly again: HttpAnswer | null;
  /** Of the killed request and its retries together. */
  readonly changes: readonly string[];
};

export function hasKey(operation: OperationId): boolean {
  return operations[operation].headerParameters.includes("Idempotency-Key");
}

/**
 * Without a key and without something that is used up, a repetition of these is one more request: what of it is there
 * twice. A login without its answer left a session whose token is lost, and opens another one. A request for a mail
 * replaces the one that waits in the queue, and is in the trail once more.
 */
const doneAgain: { readonly [id in OperationId]?: (change: string) => boolean } = {
  login: () => true,
  requestPasswordReset: (change) => change.startsWith("audit + "),
};

/**
 * A kill may leave an attempt that failed otherwise than by what was sent, which counts against the e-mail for a quarter
 * of an hour (a request for a mail: for an hour).
 */
const tries = "login_failure";
/** These record an attempt in the same way before they check what was sent. */
const recordsAttempts: ReadonlySet<OperationId> = new Set([
  "login",
  "completeLogin",
  "acceptInvitation",
  "changePassword",
  "proveIdentity",
  "confirmTotp",
  "loginWithOidc",
  "requestPasswordReset",
]);

/** A secret is valid once: repeated, these are refused, and the trail records that, too. */
const usesSecretUp: { readonly [id in OperationId]?: 401 | 422 } = {
  acceptInvitation: 422,
  joinOrganisation: 422,
  confirmPasswordReset: 422,
  redeemEnrolment: 422,
  completeLogin: 401,
  loginWithPasskey: 401,
  loginWithOidc: 401,
};

/**
 * A provider accepts a code once, and the flow that it belongs to is spent before the request to the
 * provider. Killed after that these fail: a repetition is refused, and the person starts again.
 */
const callsProvider: { readonly [id in OperationId]?: 401 | 422 } = { loginWithOidc: 401, linkIdentity: 422 };
const spent = "spent_challenge";

export function failsOnRetry({ each }: Pick<RetriedCase, "each">): boolean {
  return callsProvider[each.mutation.operation] !== undefined && each.isAfterAsking && !each.isAfterCommit;
}
const refusalInTrail = /^audit \+ .*"http_status":(\d+)/;

/** The cases that end the session that sends them: it is refused from then on, with a key as well. */
const endsSession: ReadonlySet<string> = new Set(["logout", "switchOrganisation", "leaveOrganisation"]);

/** Whether a table's rows belong to what the operation does completely or not at all. */
export function isPartOf(operation: OperationId): (table: string) => boolean {
  return (table) =>
    (!recordsAttempts.has(operation) || table !== tries) &&
    (callsProvider[operation] === undefined || table !== spent);
}

function statusOfRetry({ isAfterCommit, mutation }: RetriedCase["each"], reference: number): number {
  const { name, operation } = mutation;
  if (isAfterCommit && endsSession.has(name)) return 401;
  return (isAfterCommit ? usesSecretUp[operation] : undefined) ?? reference;
}

/**
 * What is wrong with the outcome: a killed and repeated request must have the effect of one undisturbed run.
 */
export function judgeRetry({ each, reference, retried, again, changes }: RetriedCase): string[] {
  const { isAfterCommit } = each;
  const { name, operation } = each.mutation;
  const isTwice = (isAfterCommit ? doneAgain[operation] : undefined) ?? (() => false);
  const expected = [...reference.changes, ...reference.changes.filter(isTwice)];
  if (failsOnRetry({ each })) return judgeNothing(callsProvider[operation], retried, changes);
  const found: string[] = [];
  const refusedWith = isAfterCommit ? usesSecretUp[operation] : undefined;
  const own = changes.filter(
    (line) => refusedWith === undefined || refusalInTrail.exec(line)?.[1] !== String(refusedWith),
  );
  const difference = differenceOf(expected, own);
  if (difference !== null) found.push(`asked again, it is not done once: ${difference}`);
  const status = statusOfRetry(each, reference.status);
  if (retried?.status !== status)
    return [
      ...found,
      `asked again, it answers ${retried?.status ?? "nothing"} in place of ${status}: ${retried?.text.slice(0, 300)}`,
    ];
  if (!hasKey(operation)) return found;
  if (endsSession.has(name)) return [...found, ...judgeEndedSession(retried, again)];

  const isReplay = isReplayed(retried);
  if (isReplay !== isAfterCommit)
    found.push(
      `asked again, it ${isReplay ? "replays an answer that was never given" : "does not know the key"}`,
    );
  const given = JSON.stringify(withoutSecrets(answerShape(retried.text)));
  const wanted = JSON.stringify(withoutSecrets(reference.shape));
  if (given !== wanted) {
    const [is, should] = firstDifference(given, wanted);
    found.push(`asked again, it answers ${is} in place of ${should}`);
  }
  if (again === null || !isReplayed(again)) found.push("the third time it does not know the key");
  else if (isReplay && again.text !== retried.text) found.push("two replays of one answer differ");
  return found;
}

/** Whoever is not signed in any more is not told what was answered: nothing is ever replayed. */
function judgeEndedSession(retried: HttpAnswer, again: HttpAnswer | null): string[] {
  return [
    ...(isReplayed(retried) ? ["asked again, it replays an answer to a session that has ended"] : []),
    ...(again?.status === 401
      ? []
      : [`the third time, it answers ${again?.status ?? "nothing"} in place of 401`]),
  ];
}

function isReplayed({ headers }: HttpAnswer): boolean {
  return headers.get("Idempotency-Replayed") === "true";
}

/** It has no effect, before and after the repetition, except the audit entry of the refusal. */
function judgeNothing(
  status: number | undefined,
  retried: HttpAnswer | null,
  changes: readonly string[],
): string[] {
  const left = changes.filter((line) => refusalInTrail.exec(line)?.[1] !== String(status));
  return [
    ...left.map((line) => `comes to nothing, and leaves ${line.slice(0, 400)}`),
    ...(retried?.status === status
      ? []
      : [`asked again, it answers ${retried?.status ?? "nothing"} in place of ${status}`]),
  ];
}

/** The answer without what differs from run to run. */
export function answerShape(text: string): unknown {
  return text === "" ? null : masked(JSON.parse(text));
}

/** Secrets are shown once: a replay has null in their place and marks it. */
function withoutSecrets(shape: unknown): unknown {
  if (typeof shape !== "object" || shape === null || Array.isArray(shape)) return shape;
  const shown = new Set([
    "secret",
    "password",
    "console_password",
    "ticket",
    "code",
    "otpauth_uri",
    "recovery_codes",
    "secret_withheld",
  ]);
  return Object.fromEntries(Object.entries(shape).filter(([name]) => !shown.has(name)));
}

/** Null when both lists hold the same lines, each as often; otherwise what one has and the other has not. */
export function differenceOf(expected: readonly string[], found: readonly string[]): string | null {
  const left = [...expected];
  const more: string[] = [];
  for (const line of found) {
    const index = left.indexOf(line);
    if (index < 0) more.push(line);
    else left.splice(index, 1);
  }
  if (left.length === 0 && more.length === 0) return null;
  // One line replaced by another: what they share is irrelevant.
  const isPair = left.length === 1 && more.length === 1;
  const [lost, extra] = isPair
    ? firstDifference(left[0] ?? "", more[0] ?? "").map((line) => [line])
    : [left, more];
  const tell = (what: string, lines: readonly string[] = []) =>
    lines.length === 0 ? [] : [`${what} ${lines.map((line) => line.slice(0, 400)).join(" | ")}`];
  return [...tell("missing", lost), ...tell("unexpected", extra)].join("; ");
}

/**
 * Of two long texts their beginnings, which identify them, and the surroundings of their first difference.
 */
function firstDifference(one: string, other: string): [string, string] {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const from = at - 80;
  const cut = (text: string) =>
    from <= 80 ? text.slice(0, 400) : `${text.slice(0, 80)} … ${text.slice(from, from + 300)}`;
  return [cut(one), cut(other)];
}
