import { providerEntry, sharedProviders } from "@kule/api/testing/soft-sign-ins";
import type { SceneApi } from "./scene-api.ts";

/** A provider of sign-ins that no test redirects to. */
const provider = providerEntry(
  { issuer: "https://id.acme.example" },
  { id: "acme", label: "Acme ID", signUp: null },
);

/** The API of every world has the provider, until the returned function is called. */
export function haveProvider(): () => void {
  sharedProviders.push(provider);
  return () => {
    sharedProviders.splice(sharedProviders.indexOf(provider), 1);
  };
}

/** The person has linked an account at this provider, or at the one that issues so. */
export async function linkProvider(
  api: SceneApi,
  userId: string,
  email: string,
  { issuer }: { readonly issuer: string } = provider,
): Promise<void> {
  await api.sql(
    "insert into user_identity (id, user_id, issuer, subject, email) values ($1, $2, $3, $4, $4)",
    [idOf("idn", userId), userId, issuer, email],
  );
}

/**
 * The person has an authenticator app, a passkey and recovery codes, with secrets that nobody knows: for pages that show
 * or ask for them.
 */
export async function haveSecondFactor(api: SceneApi, userId: string): Promise<void> {
  await api.sql(
    `insert into user_totp (user_id, sealed_secret, confirmed_at) values ($1, 'sealed', clock_timestamp())
     on conflict (user_id) do update set confirmed_at = excluded.confirmed_at`,
    [userId],
  );
  await api.sql(
    `insert into passkey (id, user_id, name, credential, public_key, sign_count, transports, is_synced)
     values ($1, $2, 'laptop', $1, '\\x00', 0, '{internal}', false)`,
    [idOf("psk", userId), userId],
  );
  await api.sql(
    "insert into recovery_code (user_id, code_hash) select $1, int4send(each) from generate_series(1, 8) each",
    [userId],
  );
}

/** An identifier for the only row of its kind that the person has. */
const idOf = (prefix: string, userId: string) => userId.replace("usr_", `${prefix}_`);
