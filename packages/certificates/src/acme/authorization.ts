import type { AcmeAccount } from "./account.ts";
import type { AcmeClient } from "./acme-client.ts";
import { type AcmeProblem, AcmeRefused, onlyRefusal } from "./acme-error.ts";
import {
  asObject,
  dateField,
  listField,
  readObject,
  textField,
  unusable,
  urlField,
  wordField,
} from "./answer-fields.ts";
import type { CaAnswer } from "./ca-transport.ts";
import type { ChallengeType } from "./challenge-values.ts";
import { readProblem } from "./read-problem.ts";
import { nextLook } from "./retry-after.ts";

const STATUSES = ["pending", "valid", "invalid", "deactivated", "expired", "revoked"] as const;
const CHALLENGE_STATUSES = ["pending", "processing", "valid", "invalid"] as const;

export interface AcmeChallenge {
  readonly type: ChallengeType;
  readonly url: string;
  readonly status: (typeof CHALLENGE_STATUSES)[number];
  /** 1 to 128 characters of base64url. */
  readonly token: string;
  /** What the CA found when it looked. */
  readonly problem: AcmeProblem | null;
}

/** Whether the account may have certificates for a name (RFC 8555 7.1.4). */
export interface AcmeAuthorization {
  readonly url: string;
  /** Without the asterisk of a wildcard. */
  readonly name: string;
  readonly isWildcard: boolean;
  readonly status: (typeof STATUSES)[number];
  readonly expiresAt: Date | null;
  /** Those of types that Kule answers. */
  readonly challenges: readonly AcmeChallenge[];
  /** When to look again after a challenge was answered; null when nothing happens by itself any more. */
  readonly lookAgainAt: Date | null;
}

const WHAT = "the authorization";
const MAX_CHALLENGES = 20;
const MAX_NAME_CHARACTERS = 253;
const TYPES: readonly ChallengeType[] = ["dns-01", "http-01"];

/** @throws AcmeGone when the CA does not have it */
export async function readAuthorization(
  client: AcmeClient,
  account: AcmeAccount,
  url: string,
  signal?: AbortSignal,
): Promise<AcmeAuthorization> {
  const answer = await client.post(account, { url, payload: null, what: "authorization", signal });
  return readAnswer(answer, url, client.now());
}

/**
 * Tells the CA to look for the answer of a challenge, which must be there. Where it has looked or looks already, nothing is sent.
 *
 * @returns the authorisation afterwards
 * @throws AcmeGone when the CA does not have it; AcmeRefused with `challengeNotOffered` when there is none of this type
 */
export async function answerChallenge(
  client: AcmeClient,
  account: AcmeAccount,
  authorizationUrl: string,
  type: ChallengeType,
  signal?: AbortSignal,
): Promise<AcmeAuthorization> {
  const authorization = await readAuthorization(client, account, authorizationUrl, signal);
  if (authorization.status !== "pending") return authorization;
  const challenge = challengeOf(authorization, type);
  if (challenge === undefined)
    throw new AcmeRefused(
      {
        type: "challengeNotOffered",
        detail: `the CA offers no ${type} for ${authorization.name}`,
        subproblems: [],
      },
      WHAT,
      0,
    );
  if (challenge.status !== "pending") return authorization;
  const refusal = await client
    .post(account, { url: challenge.url, payload: {}, what: "authorization", signal })
    .then(() => null, onlyRefusal);
  const after = await readAuthorization(client, account, authorizationUrl, signal);
  // Refused because a call whose answer was lost has told the CA already; only the state says so, CAs have no code for it.
  if (refusal !== null && after.status === "pending" && challengeOf(after, type)?.status === "pending")
    throw refusal;
  return after;
}

function challengeOf(authorization: AcmeAuthorization, type: ChallengeType): AcmeChallenge | undefined {
  return authorization.challenges.find((each) => each.type === type);
}

function readAnswer(answer: CaAnswer, url: string, now: Date): AcmeAuthorization {
  const object = readObject(answer.text, WHAT);
  const status = wordField(object, "status", WHAT, STATUSES);
  const identifier = asObject(object.identifier, `${WHAT}: identifier`);
  return {
    url,
    name: textField(identifier, "value", `${WHAT}: identifier`, MAX_NAME_CHARACTERS).toLowerCase(),
    isWildcard: object.wildcard === true,
    status,
    expiresAt: dateField(object, "expires", WHAT),
    challenges: listField(object, "challenges", WHAT, MAX_CHALLENGES).flatMap(readChallenge),
    lookAgainAt: status === "pending" ? nextLook(answer.header("retry-after"), now) : null,
  };
}

function readChallenge(value: unknown): readonly AcmeChallenge[] {
  const what = `${WHAT}: challenges`;
  const object = asObject(value, what);
  const type = TYPES.find((each) => each === object.type);
  if (type === undefined) return [];
  const token = textField(object, "token", what, 128);
  // It becomes a part of a URL's path and of an answer.
  if (!/^[A-Za-z0-9_-]+$/.test(token)) throw unusable(what, "the token is not base64url");
  return [
    {
      type,
      url: urlField(object, "url", what),
      status: wordField(object, "status", what, CHALLENGE_STATUSES),
      token,
      problem: readProblem(object.error),
    },
  ];
}
