import { sql } from "kysely";
import { openDatabase } from "../platform/database.ts";
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
  const owner = openDatabase({ url: ownerUrl, poolSize: 1, guardTenants: false });
  await sql`
    insert into token (id, kind, organisation_id, user_id, name, secret_hash, lifetime_seconds, created_by, expires_at)
    values (${id}, 'session', ${organisationId}, ${userId}, 'session', ${hash}, ${lifetimeSeconds}, ${userId},
            clock_timestamp() + make_interval(secs => ${lifetimeSeconds}))`.execute(owner.db);
  await owner.close();
  return { id, secret };
}

/** The secret that sets the person's password once, without an operator. */
export async function begunPasswordReset(ownerUrl: string, userId: string): Promise<string> {
  const id = newIdBody();
  const { secret, hash } = mintSecret("pwr", id);
  const owner = openDatabase({ url: ownerUrl, poolSize: 1, guardTenants: false });
  await sql`
    insert into password_reset (user_id, id, secret_hash, expires_at)
    values (${userId}, ${id}, ${hash}, clock_timestamp() + interval '1 hour')`.execute(owner.db);
  await owner.close();
  return secret;
}
