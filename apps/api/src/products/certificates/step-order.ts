import {
  AcmeGone,
  type AcmeProblem,
  AcmeRefused,
  AcmeUnavailable,
  AcmeUnusable,
} from "@kule/certificates/acme/acme-error";
import { answerChallenge, readAuthorization } from "@kule/certificates/acme/authorization";
import { type ChallengeType, challengeRecord } from "@kule/certificates/acme/challenge-values";
import { downloadCertificate } from "@kule/certificates/acme/issued-certificate";
import { type AcmeOrder, createOrder, finalizeOrder, readOrder } from "@kule/certificates/acme/order";
import { renewalIdentifier } from "@kule/certificates/acme/renewal-info";
import type { CertificateFacts } from "@kule/certificates/certificate-facts";
import { CannotDecrypt } from "@kule/certificates/master-key";
import { codeOfRefusal } from "@kule/rules/certificates/attempt-errors";
import type { Deps } from "../../platform/deps.ts";
import { areServed, bySystem, type ChallengeRecord, setChallengeRecords } from "../domains/index.ts";
import { acmeAccount, type CertificateAuthority, noteAccountUrl, useAccountKey } from "./acme-account.ts";
import { finishOrder } from "./finish-order.ts";
import type { CertificateHooks } from "./hooks.ts";
import { materialOf } from "./material-store.ts";
import {
  type Answers,
  type AttemptFailure,
  answersOf,
  clearWait,
  failAttempt,
  inStep,
  type KeptAuthorization,
  moveOrder,
  type OrderRow,
  type OrderState,
  requestKey,
  takeStep,
} from "./order-store.ts";
import { dnsProofsOf, firstProblem, lookFrom, proofsOf } from "./preflight.ts";
import {
  type CertificateDetails,
  type CertificateRow,
  findAgentKey,
  findCertificate,
  giveVersion,
} from "./store.ts";

/** Shorter than the time for which a step is taken. */
const longestStepMs = 120_000;
const betweenLooksMs = 3_000;
/** At load balancers that get their configuration: each look asks name servers that are nobody's. */
const betweenPreflightsMs = 15_000;
/** For asking where the names lead. */
const longestPreflightMs = 60_000;
/** For the name servers, and for the CA. */
const longestPublishingMs = 30 * 60_000;
const longestOrderMs = 60 * 60_000;

type Stepping = {
  readonly deps: Pick<Deps, "db" | "dns" | "log">;
  readonly ca: CertificateAuthority | null;
  readonly hooks: readonly CertificateHooks[];
};

/** What a step leads to. */
type Next =
  | {
      readonly to: OrderState;
      readonly delayMs: number;
      readonly orderUrl?: string;
      readonly answers?: Answers;
    }
  | { readonly to: "issued"; readonly facts: CertificateFacts }
  | { readonly to: "failed"; readonly failure: AttemptFailure };

/**
 * Does the next step of a certificate's order, if it is due. What a step has done is written when it has ended; one that was
 * interrupted is done again, which the CA and the domains allow. Of several workers one does it.
 *
 * @returns whether a step was due
 */
export async function stepOrder(
  { deps, ca, hooks }: Stepping,
  organisationId: string,
  certificateId: string,
): Promise<boolean> {
  const { db } = deps;
  const taken = await takeStep(db, organisationId, certificateId);
  if (taken === null) return false;
  if (taken.state === "requesting") {
    await inStep(db, taken, (tx, certificate, order) => askRegionAgain(tx, certificate, order));
    return true;
  }
  const certificate = await findCertificate(db, organisationId, certificateId);
  if (certificate === null) return true;
  const next = await nextOf({ deps, ca, hooks }, certificate, taken);
  await inStep(db, taken, async (tx, locked, order) => {
    if (next.to === "failed") return failAttempt(tx, locked, order, next.failure);
    clearWait(tx, locked);
    if (next.to === "issued") return finishOrder(tx, locked, order, next.facts);
    if (next.to === "requesting") return askAnew(tx, locked, order);
    const answers =
      next.answers === undefined
        ? {}
        : { answers: await publish(tx, locked, next.answers, ca?.directoryUrl ?? "") };
    const orderUrl = next.orderUrl === undefined ? {} : { order_url: next.orderUrl };
    return moveOrder(tx, order, next.to, next.delayMs, { ...orderUrl, ...answers });
  });
  return true;
}

async function nextOf(stepping: Stepping, certificate: CertificateDetails, order: OrderRow): Promise<Next> {
  const { deps, ca } = stepping;
  const state = order.state as OrderState;
  if (ca === null) return failed({ code: "setup_incomplete", state });
  const signal = AbortSignal.timeout(longestStepMs);
  try {
    switch (state) {
      case "ready":
        return await begin(stepping, ca, certificate, order, signal);
      case "ordered":
        return await answer(stepping, ca, certificate, order, signal);
      case "answered":
        return await look(stepping, ca, certificate, order, signal);
      default:
        return await finalize(stepping, ca, order, signal);
    }
  } catch (error) {
    const failure = await failureOf(stepping, ca, state, error, signal);
    if (failure === null) throw error;
    deps.log.warn({ err: error, certificate: certificate.id, state }, "an order of a certificate has failed");
    return failed(failure);
  }
}

const failed = (failure: AttemptFailure): Next => ({ to: "failed", failure });

/** Places the order, once every name can be proven as far as Kule can see. */
async function begin(
  stepping: Stepping,
  ca: CertificateAuthority,
  certificate: CertificateDetails,
  order: OrderRow,
  signal: AbortSignal,
): Promise<Next> {
  const { db } = stepping.deps;
  // The region's key is another one since: what was sealed to the one before nobody could open.
  if (order.sealed_to !== (await findAgentKey(db, certificate.region)))
    return { to: "requesting", delayMs: 0 };
  // What load balancers answer with has to be known before they can have it.
  if (certificate.challenge === "http") await useAccountKey(db, ca);
  const { caaIdentities } = await ca.client.directory(signal);
  const unready = await preflight(stepping, certificate, order, caaIdentities);
  if (unready !== null) return unready;
  const account = await acmeAccount(db, ca, signal);
  const replaces = await replacedIdentifier(db, certificate);
  const placed = await createOrder(ca.client, account, { names: certificate.domain_names, replaces }, signal);
  const authorizations: KeptAuthorization[] = [];
  for (const url of placed.authorizationUrls) {
    const read = await readAuthorization(ca.client, account, url, signal);
    const challenge = read.challenges.find(({ type }) => type === typeOf(certificate));
    authorizations.push({
      url,
      name: read.name,
      is_wildcard: read.isWildcard,
      status: read.status,
      token: challenge?.token ?? "",
    });
  }
  return { to: "ordered", delayMs: 0, orderUrl: placed.url, answers: { authorizations, served: [] } };
}

/**
 * What the order leads to while a name cannot be proven; null when all can. For load balancers that do not have their configuration
 * yet it waits, as for name servers.
 */
async function preflight(
  { deps: { db, dns }, hooks }: Stepping,
  certificate: CertificateDetails,
  order: OrderRow,
  caaIdentities: readonly string[] = [],
): Promise<Next | null> {
  const looking = { db, hooks, look: lookFrom(dns, longestPreflightMs) };
  const found = firstProblem(await proofsOf(looking, certificate, caaIdentities));
  if (found === null) return null;
  const { name, problem, passes } = found;
  if (passes && ageOf(certificate, order) <= longestPublishingMs)
    return { to: order.state as OrderState, delayMs: betweenPreflightsMs };
  return failed({
    code: "names_not_ready",
    message: problem.message,
    domainName: name,
    state: "ready",
  });
}

const typeOf = ({ challenge }: Pick<CertificateRow, "challenge">): ChallengeType =>
  challenge === "http" ? "http-01" : "dns-01";

async function replacedIdentifier(
  db: Stepping["deps"]["db"],
  { id, organisation_id, version }: CertificateRow,
): Promise<string | null> {
  if (version === null) return null;
  const [material] = await materialOf(db, organisation_id, [id]);
  return material === undefined ? null : renewalIdentifier(material.chain_pem);
}

/** Has the domains serve what the CA looks for. With the certificate's row locked. */
async function publish(
  tx: Parameters<typeof setChallengeRecords>[0],
  certificate: CertificateRow,
  answers: Answers,
  directoryUrl: string,
): Promise<Answers> {
  if (certificate.challenge !== "dns") return answers;
  const { thumbprint } = await tx
    .selectFrom("acme_account")
    .select("thumbprint")
    .where("directory_url", "=", directoryUrl)
    .executeTakeFirstOrThrow();
  const proofs = await dnsProofsOf(tx, certificate);
  const records = answers.authorizations.flatMap((each): ChallengeRecord[] => {
    if (each.status === "valid" || each.token === "") return [];
    const proof = proofs.find(({ name }) => name.replace(/^\*\./, "") === each.name);
    if (proof?.domainId === null || proof?.recordName === null || proof === undefined) return [];
    const { value } = challengeRecord(each.name, each.token, thumbprint);
    return [{ domainId: proof.domainId, name: proof.recordName, value: `"${value}"` }];
  });
  const by = bySystem(`certificate ${certificate.name}`);
  const { organisation_id: organisationId, id } = certificate;
  return { ...answers, served: await setChallengeRecords(tx, organisationId, id, records, by) };
}

/** Tells the CA to look, once the name servers answer. */
async function answer(
  stepping: Stepping,
  ca: CertificateAuthority,
  certificate: CertificateDetails,
  order: OrderRow,
  signal: AbortSignal,
): Promise<Next> {
  const { db } = stepping.deps;
  const { authorizations, served } = answersOf(order);
  // A name may lead elsewhere since the order was placed, where another organisation's load balancer would answer.
  const unready = certificate.challenge === "http" ? await preflight(stepping, certificate, order) : null;
  if (unready !== null) return unready;
  if (!(await areServed(db, order.organisation_id, served)))
    return ageOf(certificate, order) > longestPublishingMs
      ? failed({ code: "names_not_proven_in_time", state: "ready" })
      : { to: "ordered", delayMs: betweenLooksMs };
  const account = await acmeAccount(db, ca, signal);
  for (const { url, status } of authorizations)
    if (status !== "valid") await answerChallenge(ca.client, account, url, typeOf(certificate), signal);
  return { to: "answered", delayMs: 1_000 };
}

/** By Postgres' clock. */
const ageOf = ({ read_at }: CertificateDetails, { state_at }: OrderRow) =>
  read_at.getTime() - state_at.getTime();

/** Looks whether the CA has found the answers. */
async function look(
  { deps: { db } }: Stepping,
  ca: CertificateAuthority,
  certificate: CertificateDetails,
  order: OrderRow,
  signal: AbortSignal,
): Promise<Next> {
  const account = await acmeAccount(db, ca, signal);
  const seen = await readOrder(ca.client, account, order.order_url ?? "", signal);
  if (seen.status === "ready" || seen.status === "processing" || seen.status === "valid")
    return { to: "finalized", delayMs: 0 };
  for (const { url, name } of answersOf(order).authorizations) {
    const { status, challenges } = await readAuthorization(ca.client, account, url, signal);
    if (status === "pending" || status === "valid") continue;
    const problem = challenges.find((each) => each.problem !== null)?.problem ?? null;
    return failed(refusal(problem, name));
  }
  if (seen.status === "invalid") return failed(refusal(seen.problem, null));
  if (ageOf(certificate, order) > longestOrderMs)
    return failed({ code: "names_not_proven_in_time", state: "ready" });
  return { to: "answered", delayMs: delayUntil(ca, seen) };
}

const refusal = (problem: AcmeProblem | null, name: string | null): AttemptFailure => ({
  code: codeOfRefusal(problem?.type ?? "unauthorized"),
  domainName: problem?.subproblems.find((each) => each.name !== null)?.name ?? name,
  caText: problem?.detail ?? null,
  state: "ready",
});

const delayUntil = ({ client }: CertificateAuthority, { lookAgainAt }: AcmeOrder) =>
  Math.max(500, (lookAgainAt?.getTime() ?? 0) - client.now().getTime());

/** Hands in the request, and fetches the certificate. */
async function finalize(
  { deps: { db } }: Stepping,
  ca: CertificateAuthority,
  order: OrderRow,
  signal: AbortSignal,
): Promise<Next> {
  if (order.csr === null) throw new Error(`the order of ${order.certificate_id} has no request`);
  const account = await acmeAccount(db, ca, signal);
  const seen = await finalizeOrder(ca.client, account, order.order_url ?? "", order.csr, signal);
  if (seen.status === "pending") return { to: "answered", delayMs: betweenLooksMs };
  if (seen.status === "invalid") return failed(refusal(seen.problem, null));
  if (seen.certificateUrl === null) return { to: "finalized", delayMs: delayUntil(ca, seen) };
  return {
    to: "issued",
    facts: await downloadCertificate(ca.client, account, seen.certificateUrl, order.csr, signal),
  };
}

/** How a failed step counts as a failed attempt; null for an error of ours. */
async function failureOf(
  { deps }: Stepping,
  ca: CertificateAuthority,
  state: OrderState,
  error: unknown,
  signal: AbortSignal,
): Promise<AttemptFailure | null> {
  const retryAfterMs = (retryAt: Date | null) =>
    retryAt === null ? null : Math.max(0, retryAt.getTime() - ca.client.now().getTime());
  // For this order the CA would give the same again, for ever.
  if (error instanceof AcmeUnusable) return { code: "ca_unavailable", state: "ready" };
  if (error instanceof AcmeUnavailable || signal.aborted)
    return {
      code: "ca_unavailable",
      retryAfterMs: error instanceof AcmeUnavailable ? retryAfterMs(error.retryAt) : null,
      state,
    };
  if (error instanceof AcmeRefused)
    return { ...refusal(error.problem, null), retryAfterMs: retryAfterMs(error.retryAt) };
  if (error instanceof AcmeGone) {
    if (error.what === "account") await noteAccountUrl(deps.db, ca.directoryUrl, null);
    return { code: "order_lost", state: "ready" };
  }
  if (!(error instanceof CannotDecrypt)) return null;
  deps.log.error({ alarm: true, err: error }, "the key of the account at the CA cannot be decrypted");
  return { code: "setup_incomplete", state };
}

type InStep = Parameters<typeof inStep>[2];

/** The region has not made the key: its job has failed, or was lost. */
const askRegionAgain: InStep = async (tx, certificate, order) => {
  clearWait(tx, certificate);
  await requestKey(tx, certificate, bySystem(`certificate ${certificate.name}`));
  await moveOrder(tx, order, "requesting", longestPublishingMs / 3);
};

/** Another key, sealed to the region's present one. */
const askAnew: InStep = async (tx, certificate, order) => {
  const version = await giveVersion(tx, certificate);
  await moveOrder(tx, order, "requesting", longestPublishingMs / 3, { request: null, version });
  await requestKey(tx, certificate, bySystem(`certificate ${certificate.name}`));
};
