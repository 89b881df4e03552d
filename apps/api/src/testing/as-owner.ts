import pg from "pg";
import { newIdBody } from "../platform/ids.ts";
import { mintSecret, mintToken } from "../platform/tokens.ts";

/* What the API's role may do only with a proof, done without one: as the owner of the tables. */

type Session = { readonly userId: string; readonly organisationId: string; readonly lifetimeSeconds: number };

/** A session of the person without a sign-in. */
export async function openedSession(
  ownerUrl: string,
  { userId, organisationId, lifetimeSeconds }: Session,
): Promise<{ readonly id: string; readonly secret: string }> {
  const { id, secret, hash } = mintToken("session");
  await asOwner(
    ownerUrl,
    `insert into token (id, kind, organisation_id, user_id, name, secret_hash, lifetime_seconds, created_by, expires_at)
     values ($1, 'session', $2, $3, 'session', $4, $5::integer, $3,
             clock_timestamp() + make_interval(secs => $5::integer))`,
    [id, organisationId, userId, hash, lifetimeSeconds],
  );
  return { id, secret };
}

/** The secret that sets the person's password once, without an operator. */
export async function begunPasswordReset(ownerUrl: string, userId: string): Promise<string> {
  const id = newIdBody();
  const { secret, hash } = mintSecret("pwr", id);
  await asOwner(
    ownerUrl,
    `insert into password_reset (user_id, id, secret_hash, expires_at)
     values ($1, $2, $3, clock_timestamp() + interval '1 hour')`,
    [userId, id, hash],
  );
  return secret;
}

/** By a connection without the API's limits on time: on a starved machine a backend may take longer to start. */
async function asOwner(ownerUrl: string, statement: string, values: readonly unknown[]): Promise<void> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query(statement, [...values]);
  } finally {
    await owner.end();
  }
}
