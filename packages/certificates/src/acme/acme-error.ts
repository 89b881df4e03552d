/** What a CA says about one name of several. */
export interface AcmeSubproblem {
  /** The name; null when the CA gives none. */
  readonly name: string | null;
  readonly type: string;
  readonly detail: string;
}

/** A problem document of a CA (RFC 7807 and RFC 8555 6.7), bounded. */
export interface AcmeProblem {
  /** Without `urn:ietf:params:acme:error:`, such as `dns`, `caa` or `rateLimited`; `other` for what is not ACME's. */
  readonly type: string;
  /** The CA's text, at most 500 characters without control characters. */
  readonly detail: string;
  /** At most 100. */
  readonly subproblems: readonly AcmeSubproblem[];
}

/**
 * `unreachable`: no connection, or it broke. `timeout`: no whole answer in time. `server-error`: 5xx, or 429 without a reason.
 * `bad-answer`: not what RFC 8555 says, or too large. `address-refused`: a URL that must not be asked.
 */
export type AcmeUnavailableReason =
  | "unreachable"
  | "timeout"
  | "server-error"
  | "bad-answer"
  | "address-refused";

const MAX_DETAIL_CHARACTERS = 500;

/** The CA cannot be used now. What was asked may have been done all the same: every function here may be repeated. */
export class AcmeUnavailable extends Error {
  readonly reason: AcmeUnavailableReason;
  /** When the CA asks to come again, or null when it says nothing. */
  readonly retryAt: Date | null;
  constructor(reason: AcmeUnavailableReason, call: string, detail: string, retryAt: Date | null = null) {
    super(`${call}: ${boundedText(detail)}`);
    this.name = "AcmeUnavailable";
    this.reason = reason;
    this.retryAt = retryAt;
  }
}

/** What the CA has issued cannot be used. For the same order it gives the same again: another one is needed. */
export class AcmeUnusable extends AcmeUnavailable {
  constructor(call: string, detail: string) {
    super("bad-answer", call, detail);
    this.name = "AcmeUnusable";
  }
}

/** The CA does not do what it was asked. `retryAt` is set when it will later, as for `rateLimited`. */
export class AcmeRefused extends Error {
  readonly problem: AcmeProblem;
  /** HTTP status; 0 when Kule itself read the refusal from what the CA offers. */
  readonly status: number;
  readonly retryAt: Date | null;
  constructor(problem: AcmeProblem, call: string, status: number, retryAt: Date | null = null) {
    super(`${call}: ${problem.type}: ${problem.detail}`);
    this.name = "AcmeRefused";
    this.problem = problem;
    this.status = status;
    this.retryAt = retryAt;
  }
}

/** For what may have been refused because it is done already. @throws every other error */
export function onlyRefusal(error: unknown): AcmeRefused {
  if (error instanceof AcmeRefused) return error;
  throw error;
}

/** What the CA no longer has: an account must be made again, and for all else an order begun again. */
export class AcmeGone extends Error {
  readonly what: "account" | "order" | "authorization" | "certificate";
  constructor(what: AcmeGone["what"], call: string) {
    super(`${call}: the CA no longer has the ${what}; begin again`);
    this.name = "AcmeGone";
    this.what = what;
  }
}

/** A text from outside for logs and users. */
export function boundedText(text: string, maxCharacters = MAX_DETAIL_CHARACTERS): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").slice(0, maxCharacters);
}
