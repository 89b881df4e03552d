import { isInside, parentNames } from "@kule/rules/domains/domain-name";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { DomainRow } from "./store.ts";

export type Dependent = Pick<DomainRow, "id" | "organisation_id" | "name">;

/**
 * The domains inside of a name that nothing but a parent has proven, and that lie in no domain which the organisation has by a
 * proof, apart from the one of that name. Call it with the lock on ownership.
 *
 * @param parent its own row may be gone already
 * @param isGone for good: those that wait for their own removal count too, since it can be cancelled
 */
export async function dependentsOf(
  tx: Tx,
  parent: Dependent,
  { isGone }: { readonly isGone: boolean },
): Promise<readonly Dependent[]> {
  const inside = await tx
    .selectFrom("domain")
    .select(["id", "organisation_id", "name"])
    .where("organisation_id", "=", parent.organisation_id)
    .where("is_verified", "=", true)
    .where("verified_by", "=", "parent")
    .where("status", "not in", isGone ? ["deleting"] : ["deleting", "pending_deletion"])
    // All names that end with a dot and this one; see kule_domain_claims.
    .where(
      sql<boolean>`reversed_name ~>=~ reverse(${`.${parent.name}`}) and reversed_name ~<~ (reverse(${`.${parent.name}`}) || '~')`,
    )
    .orderBy("name")
    .execute();
  if (inside.length === 0) return [];
  const proven = await tx
    .selectFrom("domain")
    .select("name")
    .where("organisation_id", "=", parent.organisation_id)
    .where("id", "<>", parent.id)
    .where("name", "in", [...new Set(inside.flatMap(({ name }) => parentNames(name)))])
    .where("is_verified", "=", true)
    .where("verified_by", "<>", "parent")
    .where("status", "not in", ["deleting", "pending_deletion"])
    .execute();
  return inside.filter(({ name }) => !proven.some((other) => isInside(name, other.name)));
}
