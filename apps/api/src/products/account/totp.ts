import { notConfigured } from "@kule/rules/refusals";
import { Secret, TOTP } from "otpauth";
import { createVault, type Vault } from "../../platform/at-rest.ts";
import type { Tx } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { Conflict } from "../../platform/errors.ts";
import { lockTotp, type TotpRow } from "./second-factor-store.ts";

const periodSeconds = 30;
/** How far an app's clock may differ, in periods. */
const window = 1;
/** 160 bits, as RFC 4226 recommends. */
const secretBytes = 20;

/** The parameters shared with apps; not all apps support other values than these defaults. */
function totpOf(secret: Secret, email: string): TOTP {
  return new TOTP({
    issuer: "Kule",
    label: email,
    algorithm: "SHA1",
    digits: 6,
    period: periodSeconds,
    secret,
  });
}

export type NewTotp = { readonly secret: string; readonly otpauthUri: string; readonly sealed: string };

export function makeTotp(vault: Vault, userId: string, email: string): NewTotp {
  const secret = new Secret({ size: secretBytes });
  return {
    secret: secret.base32,
    otpauthUri: totpOf(secret, email).toString(),
    sealed: vault.seal(placeOf(userId), secret.base32),
  };
}

/** One that is being set up, as it was shown. */
export function openTotp(vault: Vault, userId: string, email: string, sealed: string) {
  const secret = Secret.fromBase32(vault.open(placeOf(userId), sealed));
  return { secret: secret.base32, otpauthUri: totpOf(secret, email).toString() };
}

/** The period that the code belongs to, or null for a wrong code and for one that was used before. */
export function periodOfCode(vault: Vault, userId: string, row: TotpRow, code: string): number | null {
  const secret = Secret.fromBase32(vault.open(placeOf(userId), row.sealed_secret));
  const delta = totpOf(secret, "").validate({ token: code, timestamp: row.now_ms, window });
  if (delta === null) return null;
  const period = Math.floor(row.now_ms / 1000 / periodSeconds) + delta;
  return period > Number(row.last_period) ? period : null;
}

/** Accepts a code of the person's app, once. False for a wrong one, a used one, and without an app. */
export async function takeCode(tx: Tx, vault: Vault, userId: string, code: string): Promise<boolean> {
  const row = await lockTotp(tx, userId);
  if (row === null || row.confirmed_at === null) return false;
  const period = periodOfCode(vault, userId, row, code);
  if (period === null) return false;
  await tx.updateTable("user_totp").set({ last_period: period }).where("user_id", "=", userId).execute();
  return true;
}

/** @throws Conflict in an installation that has no key to seal secrets with */
export function vaultOf({ settings }: Pick<Deps, "settings">): Vault {
  const vault = createVault(settings.secrets);
  if (vault !== null) return vault;
  throw new Conflict(
    notConfigured(
      "installation_has_a_secret",
      "this installation has no key to keep authenticator secrets with",
      { fix: "an operator sets KULE_API_SECRET" },
    ),
  );
}

const placeOf = (userId: string) => `user_totp ${userId}`;
