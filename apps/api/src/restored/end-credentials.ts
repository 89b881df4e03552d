import { sql } from "kysely";
import { systemQuery, type Tx } from "../platform/database.ts";

const why = "a restore is of all organisations";

export type EndedCredentials = {
  readonly sessions: number;
  /** What is shown once and used once: it may have been used after the moment of the backup. */
  readonly codes: number;
  /** Tokens that were ended on request. */
  readonly tokens: number;
  /** Tokens that stay valid: one that was revoked after the moment is valid again. */
  readonly tokensValid: number;
};

/**
 * Ends what may have been ended, or used, after the moment of the backup and is replaced without harm: sessions, sign-ins,
 * and secrets that are used once. Tokens of programs stay, unless all are to be ended: the installation would stand still.
 */
export async function endCredentials(tx: Tx, endsTokens: boolean): Promise<EndedCredentials> {
  const revoke = async (kinds: readonly string[]) => {
    const { numUpdatedRows } = await systemQuery(tx, why)
      .updateTable("token")
      .set({ revoked_at: sql<Date>`clock_timestamp()` })
      .where("kind", "in", [...kinds])
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return Number(numUpdatedRows);
  };
  const sessions = await revoke(["session"]);
  const tokens = endsTokens ? await revoke(["organisation", "operator"]) : 0;
  await tx.deleteFrom("sign_in").execute();
  const resets = await tx.deleteFrom("password_reset").executeTakeFirst();
  const enrolments = await tx.deleteFrom("region_enrolment").where("used_at", "is", null).executeTakeFirst();
  const invitations = await systemQuery(tx, why)
    .updateTable("invitation")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("accepted_at", "is", null)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  const { valid } = await systemQuery(tx, why)
    .selectFrom("token")
    .select(sql<number>`count(*)::integer`.as("valid"))
    .where("kind", "<>", "session")
    .where("revoked_at", "is", null)
    .where(sql<boolean>`(expires_at is null or expires_at > clock_timestamp())`)
    .executeTakeFirstOrThrow();
  return {
    sessions,
    tokens,
    codes: Number(resets.numDeletedRows + enrolments.numDeletedRows + invitations.numUpdatedRows),
    tokensValid: valid,
  };
}
