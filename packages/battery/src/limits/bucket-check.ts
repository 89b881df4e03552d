import type { CallAnswer } from "../served-api/http-call.ts";

export type Bucket = { readonly burst: number; readonly perHour: number };

/**
 * What is wrong with the answers to calls that all counted in one bucket: too many were let through, or too
 * few, or a refusal does not say when to retry.
 *
 * @param elapsedSeconds from before the first call to after the last
 */
export function bucketViolations(
  what: string,
  answers: readonly CallAnswer[],
  bucket: Bucket,
  elapsedSeconds: number,
): string[] {
  const violations: string[] = [];
  const refused = answers.filter(({ status }) => status === 429);
  const accepted = answers.length - refused.length;
  const most = bucket.burst + Math.ceil((elapsedSeconds * bucket.perHour) / 3600) + 1;
  if (accepted > most)
    violations.push(
      `${what}: ${accepted} were accepted in ${elapsedSeconds.toFixed(1)} s where ${most} may be`,
    );
  if (accepted < Math.min(bucket.burst, answers.length))
    violations.push(`${what}: only ${accepted} were accepted where ${bucket.burst} may be at once`);
  if (answers.length <= bucket.burst)
    violations.push(`${what}: the limit was never reached by ${answers.length}`);
  for (const answer of refused) violations.push(...refusalViolations(what, answer));
  return violations;
}

/** A refusal says when to retry, in a form that clients read. */
export function refusalViolations(what: string, { status, headers, text }: CallAnswer): string[] {
  if (status !== 429) return [`${what}: ${status} and not 429 is answered beyond the limit`];
  const violations: string[] = [];
  if (!/^[1-9]\d*$/.test(headers["retry-after"] ?? ""))
    violations.push(`${what}: a 429 has no Retry-After in seconds (${headers["retry-after"]})`);
  if (
    !headers["content-type"]?.startsWith("application/problem+json") ||
    !text.includes('"code":"rate_limited"')
  )
    violations.push(`${what}: a 429 is no problem document of code rate_limited`);
  return violations;
}
