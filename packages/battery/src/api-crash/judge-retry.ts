import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import type { BoundaryCase, Reference } from "./boundary-cases.ts";
import type { HttpAnswer } from "./killable-api.ts";
import { masked } from "./row-changes.ts";

export type RetriedCase = {
  readonly each: Pick<BoundaryCase, "isAfterCommit" | "isAfterAsking"> & {
    readonly mutation: Pick<BoundaryCase["mutation"], "operation">;
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
 * A login without its answer left a session whose token is lost, and a repetition opens another one: the only
 * mutation that is done twice. It records each attempt before it checks the password, so a kill may leave a
 * failure that was none, which counts against the e-mail for a quarter of an hour.
 */
const openedAgain: OperationId = "login";
const triesOfLogin = "login_failure";
/** These record an attempt in the same way before they check what was sent. */
const recordsAttempts: ReadonlySet<OperationId> = new Set([
  "login",
  "completeLogin",
  "acceptInvitation",
  "changePassword",
  "proveIdentity",
  "confirmTotp",
  "loginWithOidc",
]);

/** A secret is valid once: repeated, these are refused, and the trail records that, too. */
const usesSecretUp: { readonly [id in OperationId]?: 401 | 422 } = {
  acceptInvitation: 422,
  joinOrganisation: 422,
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

/** These end the session that sends them. */
const endsSession: ReadonlySet<OperationId> = new Set(["logout", "switchOrganisation"]);

/** Whether a table's rows belong to what the operation does completely or not at all. */
export function isPartOf(operation: OperationId): (table: string) => boolean {
  return (table) =>
    (!recordsAttempts.has(operation) || table !== triesOfLogin) &&
    (callsProvider[operation] === undefined || table !== spent);
}

function statusOfRetry(operation: OperationId, isAfterCommit: boolean, reference: number): number {
  if (isAfterCommit && endsSession.has(operation)) return 401;
  return (isAfterCommit ? usesSecretUp[operation] : undefined) ?? reference;
}

/**
 * What is wrong with the outcome: a killed and repeated request must have the effect of one undisturbed run.
 */
export function judgeRetry({ each, reference, retried, again, changes }: RetriedCase): string[] {
  const { isAfterCommit } = each;
  const { operation } = each.mutation;
  const isTwice = operation === openedAgain && isAfterCommit;
  const expected = isTwice ? [...reference.changes, ...reference.changes].sort() : reference.changes;
  if (failsOnRetry({ each })) return judgeNothing(callsProvider[operation], retried, changes);
  const found: string[] = [];
  const refusedWith = isAfterCommit ? usesSecretUp[operation] : undefined;
  const own = changes.filter(
    (line) => refusedWith === undefined || refusalInTrail.exec(line)?.[1] !== String(refusedWith),
  );
  const difference = differenceOf(expected, own);
  if (difference !== null) found.push(`asked again, it is not done once: ${difference}`);
  const status = statusOfRetry(operation, isAfterCommit, reference.status);
  if (retried?.status !== status)
    return [
      ...found,
      `asked again, it answers ${retried?.status ?? "nothing"} in place of ${status}: ${retried?.text.slice(0, 300)}`,
    ];
  if (!hasKey(operation)) return found;

  const isReplay = retried.headers.get("Idempotency-Replayed") === "true";
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
  if (again?.headers.get("Idempotency-Replayed") !== "true")
    found.push("the third time it does not know the key");
  else if (isReplay && again.text !== retried.text) found.push("two replays of one answer differ");
  return found;
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
