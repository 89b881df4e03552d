import { MAX_REQUEST_NAMES } from "../certificate-name.ts";
import type { AcmeAccount } from "./account.ts";
import type { AcmeClient } from "./acme-client.ts";
import { type AcmeProblem, AcmeRefused, onlyRefusal } from "./acme-error.ts";
import {
  type AnswerObject,
  asObject,
  asUrl,
  dateField,
  listField,
  readObject,
  textField,
  unusable,
  urlField,
  wordField,
} from "./answer-fields.ts";
import type { CaAnswer } from "./ca-transport.ts";
import { readProblem } from "./read-problem.ts";
import { nextLook } from "./retry-after.ts";

const STATUSES = ["pending", "ready", "processing", "valid", "invalid"] as const;

/** What a CA says of an order (RFC 8555 7.1.3). */
export interface AcmeOrder {
  /** Keep it: with it all can be continued after a crash. */
  readonly url: string;
  /** `pending`: authorisations are missing. `ready`: to be finalized. `processing`: the CA works. `valid` and `invalid` are ends. */
  readonly status: (typeof STATUSES)[number];
  /** In lower case, sorted. */
  readonly names: readonly string[];
  readonly authorizationUrls: readonly string[];
  readonly finalizeUrl: string;
  /** Set when `valid`. */
  readonly certificateUrl: string | null;
  /** Why it is `invalid`, where the CA says so. */
  readonly problem: AcmeProblem | null;
  readonly expiresAt: Date | null;
  /** When to look again; null when nothing happens by itself any more. */
  readonly lookAgainAt: Date | null;
}

export interface NewOrder {
  readonly names: readonly string[];
  /** Of the certificate that this one comes after, from `renewalIdentifier`: some CAs then count no limit. */
  readonly replaces?: string | null | undefined;
}

const WHAT = "the order";
const MAX_NAME_CHARACTERS = 253;
/** Why a CA does not take `replaces`: it has been replaced, it is unknown, or it is of another account. */
const REPLACES_REFUSALS = new Set(["alreadyReplaced", "malformed", "unauthorized", "other"]);

/** Begins an order. Repeated after a crash it begins another one, which a CA that sees the same names may answer with the first. */
export async function createOrder(
  client: AcmeClient,
  account: AcmeAccount,
  order: NewOrder,
  signal?: AbortSignal,
): Promise<AcmeOrder> {
  const { newOrder, renewalInfo } = await client.directory(signal);
  const identifiers = order.names.map((value) => ({ type: "dns", value }));
  const begin = (more: object) =>
    client.post(account, { url: newOrder, payload: { identifiers, ...more }, signal });
  const replaces = renewalInfo === null ? null : (order.replaces ?? null);
  let answer: CaAnswer;
  try {
    answer = await begin(replaces === null ? {} : { replaces });
  } catch (error) {
    // It is only a hint; no renewal may fail for it.
    const forHint =
      replaces !== null && error instanceof AcmeRefused && REPLACES_REFUSALS.has(error.problem.type);
    if (!forHint) throw error;
    answer = await begin({});
  }
  const location = answer.header("location");
  if (location === undefined) throw unusable(WHAT, "there is no Location");
  const begun = readAnswer(answer, asUrl(location, WHAT), client.now());
  if (!sameNames(begun.names, order.names)) throw unusable(WHAT, "it is for other names");
  return begun;
}

/** @throws AcmeGone when the CA does not have it */
export async function readOrder(
  client: AcmeClient,
  account: AcmeAccount,
  url: string,
  signal?: AbortSignal,
): Promise<AcmeOrder> {
  const answer = await client.post(account, { url, payload: null, what: "order", signal });
  return readAnswer(answer, url, client.now());
}

/**
 * Hands in the request for the certificate when the order is `ready`; in every other state it only looks, so that it may be
 * repeated until the order is at an end.
 *
 * @param csrDer as `makeCertificateRequest` makes it, for exactly the order's names; the same one for an order each time, or the
 *   certificate is for the key of the first
 * @throws AcmeGone when the CA does not have the order; AcmeRefused with `badCSR` and the like
 */
export async function finalizeOrder(
  client: AcmeClient,
  account: AcmeAccount,
  url: string,
  csrDer: Uint8Array,
  signal?: AbortSignal,
): Promise<AcmeOrder> {
  const order = await readOrder(client, account, url, signal);
  if (order.status !== "ready") return order;
  const answer = await client
    .post(account, {
      url: order.finalizeUrl,
      payload: { csr: Buffer.from(csrDer).toString("base64url") },
      what: "order",
      signal,
    })
    .catch(onlyRefusal);
  if (!(answer instanceof AcmeRefused)) return readAnswer(answer, url, client.now());
  const after = await readOrder(client, account, url, signal);
  // Refused because a call whose answer was lost has handed it in already.
  if (after.status === "processing" || after.status === "valid") return after;
  throw answer;
}

function readAnswer(answer: CaAnswer, url: string, now: Date): AcmeOrder {
  const object = readObject(answer.text, WHAT);
  const status = wordField(object, "status", WHAT, STATUSES);
  const waits = status === "pending" || status === "processing";
  return {
    url,
    status,
    names: listField(object, "identifiers", WHAT, MAX_REQUEST_NAMES).map(readName).sort(),
    authorizationUrls: listField(object, "authorizations", WHAT, MAX_REQUEST_NAMES).map((each) =>
      asUrl(each, `${WHAT}: authorizations`),
    ),
    finalizeUrl: urlField(object, "finalize", WHAT),
    certificateUrl: status === "valid" ? urlField(object, "certificate", WHAT) : null,
    problem: readProblem(object.error),
    expiresAt: dateField(object, "expires", WHAT),
    lookAgainAt: waits ? nextLook(answer.header("retry-after"), now) : null,
  };
}

function readName(identifier: unknown): string {
  const object: AnswerObject = asObject(identifier, `${WHAT}: identifiers`);
  return textField(object, "value", `${WHAT}: identifiers`, MAX_NAME_CHARACTERS).toLowerCase();
}

/** Compared as sets. */
export function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return new Set(some).symmetricDifference(new Set(others)).size === 0;
}
