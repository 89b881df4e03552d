import type { DomainStatus } from "@kule/rules/domains/lifecycle";
import { isProven as isProvenStatus } from "@kule/rules/domains/lifecycle";
import { decideVerification, type VerificationDecision } from "@kule/rules/domains/ownership";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { type Requester, requestDomainApply } from "./apply.ts";
import { isDelegatedByParent, lockOwnership, loseClaims, readClaims } from "./ownership-store.ts";
import { type DomainRow, lockDomain } from "./store.ts";

type Refused = Extract<VerificationDecision, { ok: false }>;

export type Proving =
  /** It is gone. */
  | { readonly is: "gone" }
  /** It was proven, or had ended, before. */
  | { readonly is: "decided"; readonly domain: DomainRow }
  | { readonly is: "proven"; readonly job: JobRow }
  | ({ readonly is: "refused" } & Pick<Refused, "problem" | "ends">);

/**
 * Decides by all organisations' claims whether a domain becomes its organisation's, and makes it so: other claims on the
 * name are lost, and the job that makes the zone is queued. The transaction holds no domain's row before.
 *
 * @param isProven what was seen outside of this transaction
 */
export async function proveDomain(
  tx: Tx,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  isProven: boolean,
  by: Requester,
): Promise<Proving> {
  await lockOwnership(tx);
  const domain = await lockDomain(tx, organisation_id, id);
  if (domain === null) return { is: "gone" };
  if (domain.status !== "pending") return { is: "decided", domain };
  const decision = await decideUnderLock(tx, domain, isProven);
  if (!decision.ok) return { is: "refused", problem: decision.problem, ends: decision.ends };
  return { is: "proven", job: await becomeProven(tx, domain, decision, by) };
}

/** Call it with the lock on ownership. */
export async function decideUnderLock(
  tx: Tx,
  domain: Pick<DomainRow, "id" | "organisation_id" | "name" | "status" | "created_at">,
  isProven: boolean,
): Promise<VerificationDecision> {
  const { claims, nowMs } = await readClaims(tx, domain.name);
  return decideVerification(
    {
      id: domain.id,
      organisationId: domain.organisation_id,
      name: domain.name,
      status: isProvenStatus(domain.status as DomainStatus) ? "verified" : "pending",
      claimedAtMs: domain.created_at.getTime(),
    },
    { claims, nowMs, isProven, isDelegated: await isDelegatedByParent(tx, domain.name, claims) },
  );
}

/** Writes what the decision says. */
export async function becomeProven(
  tx: Tx,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  { lost, delegationsToKeep }: Extract<VerificationDecision, { ok: true }>,
  by: Requester,
): Promise<JobRow> {
  await loseClaims(tx, lost);
  await tx
    .updateTable("domain")
    .set({
      status: "provisioning",
      verified_at: sql<Date>`clock_timestamp()`,
      verification_checked_at: sql<Date>`clock_timestamp()`,
      verification_seen: null,
      kept_delegations: [...delegationsToKeep],
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
  const job = await requestDomainApply(tx, { id, organisation_id }, by);
  if (job === null) throw new Error(`domain ${id} is proven and has no job`);
  return job;
}

/** Notes what a check has seen that did not prove the domain, and how its claim ends, if it does. */
export async function noteNotProven(
  tx: Tx,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  { seen, ends }: { readonly seen: string | null; readonly ends: "expired" | "lost" | null },
): Promise<void> {
  await tx
    .updateTable("domain")
    .set({
      verification_checked_at: sql<Date>`clock_timestamp()`,
      ...(seen === null ? {} : { verification_seen: seen }),
      ...(ends === null
        ? {}
        : {
            status: ends,
            generation: sql<number>`generation + 1`,
            updated_at: sql<Date>`clock_timestamp()`,
          }),
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .where("status", "=", "pending")
    .execute();
}
