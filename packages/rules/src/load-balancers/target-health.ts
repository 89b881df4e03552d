import type { HealthCheck } from "./intent.ts";
import { defaultHttpCheck } from "./limits.ts";

export type TargetStatus = "healthy" | "unhealthy" | "unknown" | "draining";

/** Closed: what a region says beyond these words is never shown. */
export type CheckErrorCode =
  | "connection_refused"
  | "connection_timed_out"
  | "unreachable"
  | "no_answer"
  | "unexpected_code"
  | "invalid_answer"
  | "other";

export type CheckError = {
  readonly code: CheckErrorCode;
  /** The HTTP status of an `unexpected_code`; null with all others. */
  readonly seenCode: number | null;
};

/** A server of a backend in haproxy's `show stat`. The words may be anything: a machine may be somebody else's. */
export type SeenServer = {
  /** Column `status`, such as `UP`, `DOWN 1/3`, `DRAIN`. */
  readonly status: string;
  /** Column `check_status`, such as `L7STS`; `* L7STS` while a check is under way. */
  readonly checkStatus: string;
  /** Column `check_code`. */
  readonly checkCode: number | null;
  /** Column `last_chk`. Only known words of it are looked for. */
  readonly lastCheck: string;
};

export type TargetHealth = {
  readonly status: TargetStatus;
  /** Of the last check; null when it succeeded or there was none. */
  readonly lastError: CheckError | null;
};

/**
 * @param isDrained as it is wanted: haproxy shows weight 0, which its owner may have written too, as any other
 * @param before what it was in the last round: one that was unhealthy stays so until it has enough successes, while a new
 *   one is `unknown` until then
 */
export function targetHealth(
  seen: SeenServer,
  { isDrained, before }: { readonly isDrained: boolean; readonly before: TargetStatus | null },
): TargetHealth {
  const check = readCheck(seen);
  const lastError = check.result === "failed" ? check.error : null;
  return { status: statusOf(seen.status, check.result, isDrained, before), lastError };
}

/**
 * Of two machines that both check a target what the one with the address says, since clients reach that one; while no role is
 * known what a machine that knows something says. Null: neither has a word of it.
 */
export function shownHealth(
  reports: readonly { readonly role: "active" | "standby" | null; readonly health: TargetHealth }[],
): TargetHealth | null {
  const shown =
    reports.find(({ role }) => role === "active") ??
    reports.find(({ health }) => health.status !== "unknown") ??
    reports[0];
  return shown?.health ?? null;
}

type CheckResult =
  | { readonly result: "passed" | "none" }
  | { readonly result: "failed"; readonly error: CheckError };

function statusOf(
  status: string,
  result: CheckResult["result"],
  isDrained: boolean,
  before: TargetStatus | null,
): TargetStatus {
  if (isDrained || status.startsWith("DRAIN")) return "draining";
  // haproxy takes a server for up that it has not checked yet.
  if (/^UP\b/.test(status)) return result === "none" ? "unknown" : "healthy";
  if (!/^DOWN\b/.test(status)) return "unknown";
  return result === "failed" || before === "unhealthy" ? "unhealthy" : "unknown";
}

const failed = (code: CheckErrorCode, seenCode: number | null = null): CheckResult => ({
  result: "failed",
  error: { code, seenCode },
});

function readCheck({ checkStatus, checkCode, lastCheck }: SeenServer): CheckResult {
  switch (checkStatus.replace(/^\* /, "")) {
    case "L4OK":
    case "L6OK":
    case "L7OK":
    case "L7OKC":
      return { result: "passed" };
    case "L4CON":
      return failed(/connection refused/i.test(lastCheck) ? "connection_refused" : "unreachable");
    case "L4TOUT":
      return failed("connection_timed_out");
    case "L6TOUT":
    case "L7TOUT":
      return failed("no_answer");
    case "L6RSP":
    case "L7RSP":
      return failed("invalid_answer");
    case "L7STS":
      return isHttpStatus(checkCode) ? failed("unexpected_code", checkCode) : failed("invalid_answer");
    case "SOCKERR":
    case "PROCERR":
    case "PROCTOUT":
      return failed("other");
    default:
      return { result: "none" };
  }
}

const isHttpStatus = (code: number | null): code is number =>
  code !== null && Number.isInteger(code) && code >= 100 && code <= 599;

/** The error as its owner reads it, made of our own words and numbers. */
export function checkErrorMessage(
  { code, seenCode }: CheckError,
  check: HealthCheck,
  targetPort: number,
): string {
  const port = check.port ?? targetPort;
  switch (code) {
    case "connection_refused":
      return `The target refused the connection at port ${port}.`;
    case "connection_timed_out":
      return `The target did not accept a connection at port ${port} within ${check.timeoutSeconds} s.`;
    case "unreachable":
      return `The target could not be reached at port ${port}.`;
    case "no_answer":
      return `The target did not answer within ${check.timeoutSeconds} s.`;
    case "unexpected_code":
      return `The target answered ${seenCode} instead of ${check.expectedCodes ?? defaultHttpCheck.expectedCodes}.`;
    case "invalid_answer":
      return "The target's answer is not HTTP.";
    case "other":
      return "The check could not be made.";
  }
}
