import type { DomainStatus, VerifiedBy } from "@kule/rules/domains/lifecycle";
import { isProven as isProvenStatus } from "@kule/rules/domains/lifecycle";
import { decideVerification, notProven, type VerificationDecision } from "@kule/rules/domains/ownership";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { type Requester, requestDomainApply } from "./apply.ts";
import type { Proof } from "./look-for-proof.ts";
import { isDelegatedByParent, lockOwnership, loseClaims, readClaims, takeDomain } from "./ownership-store.ts";
import { type DomainRow, lockDomain } from "./store.ts";

/** What was seen of a domain's proof. */
type Seen = Pick<Proof, "by" | "observed">;
const notLooked: Seen = { by: null, observed: null };

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
 * @param proof what was seen outside of this transaction; null: nobody looked
 */
export async function proveDomain(
  tx: Tx,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  proof: Seen | null,
  by: Requester,
): Promise<Proving> {
  await lockOwnership(tx);
  const domain = await lockDomain(tx, organisation_id, id);
  if (domain === null) return { is: "gone" };
  if (domain.verified_by === "parent" && domain.is_verified) return proveBesideParent(tx, domain, proof);
  if (domain.status !== "pending") return { is: "decided", domain };
  const decision = await decideUnderLock(tx, domain, proof ?? notLooked);
  if (!decision.ok) return { is: "refused", problem: decision.problem, ends: decision.ends };
  return { is: "proven", job: await becomeProven(tx, domain, decision, proof?.by ?? "parent", by) };
}

/** A domain that the organisation has by its parent gets a proof of its own; without one it stays as it was. */
async function proveBesideParent(tx: Tx, domain: DomainRow, proof: Seen | null): Promise<Proving> {
  const by = proof?.by ?? null;
  if (by === null) return { is: "refused", problem: notProven(domain.name), ends: null };
  await tx
    .updateTable("domain")
    .set({ verified_by: by, verification_seen: null, verification_checked_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", domain.organisation_id)
    .where("id", "=", domain.id)
    .execute();
  return { is: "decided", domain };
}

/** Call it with the lock on ownership. */
export async function decideUnderLock(
  tx: Tx,
  domain: Pick<
    DomainRow,
    "id" | "organisation_id" | "name" | "status" | "created_at" | "name_servers" | "label"
  >,
  { by, observed }: { readonly by: VerifiedBy | null; readonly observed: Seen["observed"] },
): Promise<VerificationDecision> {
  const { claims, nowMs } = await readClaims(tx, domain.name);
  return decideVerification(
    {
      id: domain.id,
      organisationId: domain.organisation_id,
      name: domain.name,
      status: isProvenStatus(domain.status as DomainStatus) ? "verified" : "pending",
      claimedAtMs: domain.created_at.getTime(),
      nameServers: domain.name_servers,
      isByParent: false,
      isLeaving: false,
      isBusy: false,
    },
    {
      claims,
      nowMs,
      observed,
      isProven: by !== null,
      isDelegated: await isDelegatedByParent(tx, domain.name, claims),
    },
  );
}

/** Writes what the decision says. */
export async function becomeProven(
  tx: Tx,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  { taken, lost, delegationsToKeep }: Extract<VerificationDecision, { ok: true }>,
  verifiedBy: VerifiedBy,
  by: Requester,
): Promise<JobRow> {
  await takeDomain(tx, taken);
  await loseClaims(tx, lost);
  await tx
    .updateTable("domain")
    .set({
      status: "provisioning",
      verified_at: sql<Date>`clock_timestamp()`,
      verified_by: verifiedBy,
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
  { seen, ends }: { readonly seen: string | null; readonly ends: "expired" | null },
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
    .where((is) => is.or([is("status", "=", "pending"), is("verified_by", "=", "parent")]))
    .execute();
}
