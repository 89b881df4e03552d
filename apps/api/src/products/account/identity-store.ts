import type { Schemas } from "@kule/contract/schemas";
import type { UserIdentity } from "@kule/database/generated/rows";
import type { OidcProvider } from "@kule/region-config/oidc-file";
import { hasSignInMethod } from "@kule/rules/identity/sign-in-methods";
import { lastSignInMethod } from "@kule/rules/refusals";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { Conflict } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import { storableText } from "../../platform/storable-text.ts";
import type { OidcPerson } from "./oidc-client.ts";
import { listPasskeys } from "./passkey-store.ts";
import type { PersonProof } from "./person-proof.ts";

export type IdentityRow = Selectable<UserIdentity>;

type Providers = Pick<Deps, "settings">;

/** The provider does not bound the length of the texts that `personOf` reads. */
const maxTextCharacters = 254;
const noted = (text: string | null) =>
  text === null ? null : storableText(text.slice(0, maxTextCharacters));

/** The person with that account at the provider, by issuer and subject: the only pair that is unique. */
export async function findIdentity(
  db: Database | Tx,
  { issuer, subject }: Pick<OidcPerson, "issuer" | "subject">,
): Promise<IdentityRow | null> {
  const row = await db
    .selectFrom("user_identity")
    .selectAll()
    .where("issuer", "=", issuer)
    .where("subject", "=", subject)
    .executeTakeFirst();
  return row ?? null;
}

export function listIdentities(db: Database | Tx, userId: string): Promise<IdentityRow[]> {
  return db
    .selectFrom("user_identity")
    .selectAll()
    .where("user_id", "=", userId)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
}

export async function findOwnIdentity(
  db: Database | Tx,
  userId: string,
  id: string,
): Promise<IdentityRow | null> {
  if (!isId("idn", id)) return null;
  const row = await db
    .selectFrom("user_identity")
    .selectAll()
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/** Adds it; null when it is linked already. */
export async function insertIdentity(
  tx: Tx,
  proof: PersonProof,
  userId: string,
  { issuer, subject, email }: OidcPerson,
): Promise<IdentityRow | null> {
  const identity = { id: newId("idn"), user_id: userId, issuer, subject, email: noted(email) };
  const { rows } = await sql<{ is_linked: boolean }>`
    select kule_link_identity(${JSON.stringify(proof)}::jsonb, ${JSON.stringify(identity)}::jsonb) as is_linked`.execute(
    tx,
  );
  return rows[0]?.is_linked === true ? findOwnIdentity(tx, userId, identity.id) : null;
}

/** Notes a use. False when it was unlinked meanwhile. */
export async function noteIdentityUse(tx: Tx, id: string, email: string | null): Promise<boolean> {
  const used = await tx
    .updateTable("user_identity")
    .set({ last_used_at: sql<Date>`clock_timestamp()`, email: noted(email) })
    .where("id", "=", id)
    .returning("id")
    .execute();
  return used.length === 1;
}

/** The provider that the identity is of; null when the installation has it no more. */
export function providerOf({ settings }: Providers, issuer: string): OidcProvider | null {
  const { href } = new URL(issuer);
  return settings.oidcProviders.find((each) => new URL(each.issuer).href === href) ?? null;
}

/**
 * Refuses a change that would leave an account without a sign-in method. Call it under the lock of the
 * person's row (`lockPerson`): otherwise two concurrent changes would each count the method that the other
 * one removes.
 *
 * @param gone what is removed: `all` stands for every passkey
 * @throws Conflict `last_way_in`
 */
export async function requireOtherSignInMethod(
  deps: Providers,
  tx: Tx,
  userId: string,
  gone: { readonly identity?: string; readonly passkey?: string | "all" },
): Promise<void> {
  const user = await tx
    .selectFrom("app_user")
    .select("has_password")
    .where("id", "=", userId)
    .executeTakeFirstOrThrow();
  const passkeys = (await listPasskeys(tx, userId)).filter(
    ({ id }) => gone.passkey !== "all" && id !== gone.passkey,
  );
  const identities = (await listIdentities(tx, userId)).filter(
    ({ id, issuer }) => id !== gone.identity && providerOf(deps, issuer) !== null,
  );
  const left = {
    hasPassword: user.has_password,
    passkeys: passkeys.length,
    identities: identities.length,
  };
  if (!hasSignInMethod(left)) throw noOtherSignInMethod(userId);
}

function noOtherSignInMethod(resource: string): Conflict {
  return new Conflict(
    lastSignInMethod("another_way_in", "you could not sign in any more without it", {
      resource,
      fix: "set a password first: PUT /me/password",
    }),
  );
}

export function viewProvider({ id, label }: OidcProvider): Schemas["OidcProvider"] {
  return { id, label };
}

export function viewIdentity(deps: Providers, row: IdentityRow): Schemas["Identity"] {
  const provider = providerOf(deps, row.issuer);
  return {
    id: row.id,
    provider: provider === null ? null : viewProvider(provider),
    issuer: row.issuer,
    email: row.email,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}
