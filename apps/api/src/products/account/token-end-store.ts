import { sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";

/** Ends a token now and notifies every process. Revoking a revoked token changes nothing. */
export async function revokeTokenRow(tx: Tx, id: string): Promise<void> {
  await systemQuery(tx, "a token that was found by its owner is ended by its id")
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
}

/** Ends a user's credentials in an organisation: sessions and the tokens they minted. Returns how many. */
export async function revokeTokensOfUser(tx: Tx, organisationId: string, userId: string): Promise<number> {
  const rows = await tx
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("user_id", "=", userId)
    .where("revoked_at", "is", null)
    .returning("id")
    .execute();
  return rows.length;
}

/** Ends what a person has minted, in all of their organisations and for operators. Returns how many. */
export async function revokeTokensMintedBy(tx: Tx, userId: string): Promise<number> {
  const rows = await systemQuery(tx, "a person's tokens are of all of their organisations")
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("kind", "in", ["organisation", "operator"])
    .where("revoked_at", "is", null)
    .returning("id")
    .execute();
  return rows.length;
}
