import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { mintToken } from "../../platform/tokens.ts";
import type { PersonProof } from "./person-proof.ts";

/** How and where a session is opened, and how long it may be idle. */
export type NewSession = {
  readonly userId: string;
  readonly organisationId: string | null;
  readonly lifetimeSeconds: number;
  readonly idleSeconds: number;
  readonly openedBy: string;
  /** The account at a provider that was its first step. */
  readonly identityId: string | null;
  /**
   * When the person last authenticated, in seconds of the epoch by a provider's clock, which may be ahead of
   * ours; null: unknown. Left out: now.
   */
  readonly provenSeconds?: number | null;
  readonly userAgent: string | null;
  readonly sourceAddress: string | null;
};

export type IssuedSession = { readonly id: string; readonly secret: string; readonly expiresAt: Date };

/**
 * The API's role may not insert a session; Postgres checks the proof itself. Null when it is not the user's.
 */
export async function issueSession(
  tx: Tx,
  proof: PersonProof,
  session: NewSession,
): Promise<IssuedSession | null> {
  const { id, secret, hash } = mintToken("session");
  const values = {
    id,
    name: "session",
    secret_hash: hash.toString("hex"),
    user_id: session.userId,
    organisation_id: session.organisationId,
    lifetime_seconds: session.lifetimeSeconds,
    idle_seconds: session.idleSeconds,
    opened_by: session.openedBy,
    identity_id: session.identityId,
    is_proven: session.provenSeconds !== null,
    proven_seconds: session.provenSeconds ?? null,
    user_agent: session.userAgent,
    source_address: session.sourceAddress,
  };
  const { rows } = await sql<{ ends: Date | null }>`
    select kule_open_session(${JSON.stringify(proof)}::jsonb, ${JSON.stringify(values)}::jsonb) as ends`.execute(
    tx,
  );
  const ends = rows[0]?.ends ?? null;
  return ends === null ? null : { id, secret, expiresAt: ends };
}

/**
 * Creates a session in another organisation, otherwise like its predecessor, with the same end. Null when the
 * predecessor has ended in the meantime.
 */
export async function succeedSession(
  tx: Tx,
  proof: PersonProof,
  organisationId: string,
): Promise<IssuedSession | null> {
  const { id, secret, hash } = mintToken("session");
  const { rows } = await sql<{ ends: Date | null }>`
    select kule_succeed_session(${JSON.stringify(proof)}::jsonb, ${id}, ${hash}, ${organisationId}) as ends`.execute(
    tx,
  );
  const ends = rows[0]?.ends ?? null;
  return ends === null ? null : { id, secret, expiresAt: ends };
}
