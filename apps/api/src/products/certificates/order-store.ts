import type { CertificateOrder } from "@kule/database/generated/rows";
import { type AttemptErrorCode, attemptErrorTexts } from "@kule/rules/certificates/attempt-errors";
import { retryDelayMs } from "@kule/rules/certificates/renewal";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { type JobRow, lockOpenJobs, queueJob } from "../../platform/jobs.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction, sendAhead } from "../../platform/transaction.ts";
import { bySystem, type ServedFrom, setChallengeRecords } from "../domains/index.ts";
import type { Requester } from "./hooks.ts";
import { type CertificateRow, giveVersion, lockCertificate } from "./store.ts";

export type OrderRow = Selectable<CertificateOrder>;
export type OrderState = "requesting" | "ready" | "ordered" | "answered" | "finalized";

/** What the CA wants to see for a name, as the order's row keeps it. */
export type KeptAuthorization = {
  readonly url: string;
  /** Without the star. */
  readonly name: string;
  readonly is_wildcard: boolean;
  readonly status: string;
  readonly token: string;
};
export type Answers = {
  readonly authorizations: readonly KeptAuthorization[];
  readonly served: readonly ServedFrom[];
};
export const answersOf = ({ answers }: Pick<OrderRow, "answers">): Answers => answers as unknown as Answers;

type Owned = Pick<CertificateRow, "id" | "organisation_id" | "region">;

/** As long as a region may take for a key before another job is made for it, and a worker for a step. */
const longestRequest = sql`interval '10 minutes'`;
const longestStep = sql`interval '3 minutes'`;

/** Begins an attempt to have the certificate issued: the region makes a key. Its row is locked, and it has no order. */
export async function beginAttempt(tx: Tx, certificate: Owned, by: Requester): Promise<JobRow> {
  const version = await giveVersion(tx, certificate);
  await tx
    .insertInto("certificate_order")
    .values({
      organisation_id: certificate.organisation_id,
      certificate_id: certificate.id,
      version,
      step_at: sql<Date>`clock_timestamp() + ${longestRequest}`,
    })
    .execute();
  return requestKey(tx, certificate, by);
}

/** The job that makes the key of the certificate's order; one that is open is that job. */
export async function requestKey(tx: Tx, certificate: Owned, by: Requester): Promise<JobRow> {
  const { queued, running } = await lockOpenJobs(tx, certificate.organisation_id, certificate.id);
  const open = queued ?? running;
  if (open !== null) return open;
  return queueJob(tx, {
    kind: "CertificateRequest",
    organisationId: certificate.organisation_id,
    region: certificate.region,
    resourceType: "certificate",
    resourceId: certificate.id,
    requestedBy: by.requestedBy,
    requestId: by.requestId,
  });
}

export async function findOrder(
  db: Database | Tx,
  organisationId: string,
  certificateId: string,
): Promise<OrderRow | null> {
  const row = await db
    .selectFrom("certificate_order")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("certificate_id", "=", certificateId)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Takes the order's step if it is due: for a while nobody else does, and what somebody writes who took it before is refused.
 */
export async function takeStep(
  db: Database,
  organisationId: string,
  certificateId: string,
): Promise<OrderRow | null> {
  const row = await db
    .updateTable("certificate_order")
    .set({ step: sql<number>`step + 1`, step_at: sql<Date>`clock_timestamp() + ${longestStep}` })
    .where("organisation_id", "=", organisationId)
    .where("certificate_id", "=", certificateId)
    // The task may be run a moment before its time, by another clock.
    .where(sql<boolean>`step_at <= clock_timestamp() + interval '1 second'`)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

type OrderChanges = {
  readonly order_url?: string | null;
  readonly answers?: Answers;
  readonly request?: { readonly csr: Buffer; readonly sealedKey: string; readonly sealedTo: string } | null;
  readonly version?: number;
};

/** Writes the order's next state and when its next step is due. */
export async function moveOrder(
  tx: Tx,
  { organisation_id, certificate_id }: Pick<OrderRow, "organisation_id" | "certificate_id">,
  state: OrderState,
  delayMs: number,
  { answers, request, ...plain }: OrderChanges = {},
): Promise<void> {
  await tx
    .updateTable("certificate_order")
    .set({
      ...plain,
      state,
      state_at: sql<Date>`case when state = ${state} then state_at else clock_timestamp() end`,
      step_at: sql<Date>`clock_timestamp() + make_interval(secs => ${delayMs / 1_000})`,
      ...(answers === undefined ? {} : { answers: JSON.stringify(answers) }),
      ...(request === undefined
        ? {}
        : {
            csr: request?.csr ?? null,
            sealed_key: request?.sealedKey ?? null,
            sealed_to: request?.sealedTo ?? null,
          }),
    })
    .where("organisation_id", "=", organisation_id)
    .where("certificate_id", "=", certificate_id)
    .execute();
}

/**
 * Runs work with the certificate and its order locked, if the step that was taken is still the order's.
 *
 * @returns null when it is not: somebody else took it, or the certificate is gone
 */
export function inStep<Result>(
  db: Database,
  taken: Pick<OrderRow, "organisation_id" | "certificate_id" | "step">,
  work: (tx: Tx, certificate: CertificateRow, order: OrderRow) => Promise<Result>,
): Promise<Result | null> {
  return inTransaction(db, async (tx) => {
    actAs(tx, taken.organisation_id);
    const certificate = await lockCertificate(tx, taken.organisation_id, taken.certificate_id);
    const order =
      certificate === null ? null : await findOrder(tx, taken.organisation_id, taken.certificate_id);
    if (certificate === null || order === null || order.step !== taken.step) return null;
    return work(tx, certificate, order);
  });
}

export type AttemptFailure = {
  readonly code: AttemptErrorCode;
  /** In place of the code's own text. */
  readonly message?: string;
  readonly domainName?: string | null;
  readonly caText?: string | null;
  /** The CA asked to wait so long. */
  readonly retryAfterMs?: number | null;
  /** Where the next attempt goes on. */
  readonly state: OrderState;
};

/** Notes a failed attempt and when the next one is made. The certificate's row is locked. */
export async function failAttempt(
  tx: Tx,
  certificate: CertificateRow,
  order: OrderRow,
  failure: AttemptFailure,
): Promise<void> {
  const { code, state, retryAfterMs = null } = failure;
  const attempts = certificate.failed_attempts + 1;
  const delayMs = retryDelayMs(attempts, retryAfterMs);
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx);
  const nowMs = rows[0]?.now.getTime() ?? 0;
  await tx
    .updateTable("certificate")
    .set({
      failed_attempts: attempts,
      next_attempt_at: new Date(nowMs + delayMs),
      ca_retry_at: retryAfterMs === null ? null : new Date(nowMs + retryAfterMs),
      last_error: JSON.stringify({
        code,
        message: failure.message ?? attemptErrorTexts[code],
        domain_name: failure.domainName ?? null,
        ca_text: failure.caText ?? null,
        at: new Date(nowMs).toISOString(),
      }),
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", certificate.organisation_id)
    .where("id", "=", certificate.id)
    .execute();
  const beginsAgain = state === "ready" || state === "requesting";
  if (beginsAgain) await removeChallenges(tx, certificate);
  await moveOrder(tx, order, state, delayMs, beginsAgain ? noOrder : {});
}

const noOrder = { order_url: null, answers: { authorizations: [], served: [] } } as const;

/** Nothing of the certificate is served in any domain any more. */
export async function removeChallenges(
  tx: Tx,
  certificate: Pick<CertificateRow, "id" | "organisation_id" | "name">,
): Promise<void> {
  await setChallengeRecords(
    tx,
    certificate.organisation_id,
    certificate.id,
    [],
    bySystem(`certificate ${certificate.name}`),
  );
}

/** The attempt goes on: it no longer waits. */
export function clearWait(tx: Tx, { id, organisation_id, next_attempt_at }: CertificateRow): void {
  if (next_attempt_at === null) return;
  sendAhead(
    tx,
    tx
      .updateTable("certificate")
      .set({ next_attempt_at: null })
      .where("organisation_id", "=", organisation_id)
      .where("id", "=", id),
  );
}
