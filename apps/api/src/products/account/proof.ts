import { proofRequired } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { lockPerson, personOf } from "./person.ts";

const provenSeconds = 600;
const reason = "a session is found by its own id";

/** Until when this session may change how its person signs in; null when that, or the session, is over. */
export async function provenUntil(db: Database | Tx, sessionId: string): Promise<Date | null> {
  const row = await systemQuery(db, reason)
    .selectFrom("token")
    .select(sql<Date>`proven_at + make_interval(secs => ${provenSeconds})`.as("until"))
    .where("id", "=", sessionId)
    .where("revoked_at", "is", null)
    .where("proven_at", ">", sql<Date>`clock_timestamp() - make_interval(secs => ${provenSeconds})`)
    .executeTakeFirst();
  return row?.until ?? null;
}

/**
 * Checks under the person's lock, so that of two concurrent changes the second sees the result of the first:
 * which codes there are, whether there is another factor, and whether a changed password ended this session.
 *
 * @throws Conflict when the person has not proven recently who they are: a browser may have been left open
 */
export async function requireProof(request: ApiRequest, tx: Tx): Promise<void> {
  const { id, sessionId } = personOf(request);
  await lockPerson(tx, id);
  if ((await provenUntil(tx, sessionId)) !== null) return;
  throw needed(request);
}

/**
 * For what tokens may do as well: a browser that was left open must not be enough to leave an access key
 * behind. A token has no person who could prove anything.
 */
export async function requireProofOfSession(request: ApiRequest, tx: Tx): Promise<void> {
  if (request.caller.kind === "session") await requireProof(request, tx);
}

/** The same before anything is written. */
export async function requireProofNow(request: ApiRequest): Promise<void> {
  if ((await provenUntil(request.db, personOf(request).sessionId)) === null) throw needed(request);
}

function needed(request: ApiRequest): Conflict {
  return new Conflict(
    proofRequired("proven_recently", "show again who you are before this", {
      resource: personOf(request).sessionId,
      fix: "POST /me/proof",
    }),
  );
}
