import { createHash, randomInt } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";

export type TotpRow = {
  readonly sealed_secret: string;
  readonly confirmed_at: Date | null;
  readonly last_period: string;
  /** For one that is being set up: it was begun not long ago. */
  readonly is_fresh: boolean;
  /** The database's time, which decides which codes are right now. */
  readonly now_ms: number;
};

const setUpSeconds = 900;

/** The person's authenticator app, under its lock: two requests with one code run one after the other. */
export async function lockTotp(tx: Tx, userId: string): Promise<TotpRow | null> {
  const row = await tx
    .selectFrom("user_totp")
    .select([
      "sealed_secret",
      "confirmed_at",
      "last_period",
      sql<boolean>`created_at > clock_timestamp() - make_interval(secs => ${setUpSeconds})`.as("is_fresh"),
      sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`.as("now_ms"),
    ])
    .where("user_id", "=", userId)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export type SecondFactors = {
  readonly totpConfirmedAt: Date | null;
  readonly passkeys: number;
  readonly recoveryCodesLeft: number;
};

export async function findSecondFactors(db: Database | Tx, userId: string): Promise<SecondFactors> {
  const totp = await db
    .selectFrom("user_totp")
    .select("confirmed_at")
    .where("user_id", "=", userId)
    .executeTakeFirst();
  const codes = await db
    .selectFrom("recovery_code")
    .select(sql<number>`count(*)::integer`.as("left"))
    .where("user_id", "=", userId)
    .where("used_at", "is", null)
    .executeTakeFirstOrThrow();
  const { passkeys } = await db
    .selectFrom("passkey")
    .select(sql<number>`count(*)::integer`.as("passkeys"))
    .where("user_id", "=", userId)
    .executeTakeFirstOrThrow();
  return { totpConfirmedAt: totp?.confirmed_at ?? null, passkeys, recoveryCodesLeft: codes.left };
}

export function hasSecondFactor(factors: SecondFactors): boolean {
  return factors.totpConfirmedAt !== null || factors.passkeys > 0;
}

/** The methods that can complete a sign-in of the person. */
export function secondFactorMethods(factors: SecondFactors): Schemas["SecondFactorMethod"][] {
  return [
    ...(factors.totpConfirmedAt === null ? [] : ["totp" as const]),
    ...(factors.passkeys === 0 ? [] : ["passkey" as const]),
    ...(factors.recoveryCodesLeft === 0 ? [] : ["recovery_code" as const]),
  ];
}

/** Letters and digits that are not mistaken for one another; 16 of them are 78 bits. */
const codeAlphabet = "23456789abcdefghjkmnpqrstvwxyz";
const codeLength = 16;
const codeCount = 10;

/** Replaces all codes by ten new ones. Only their hashes are stored. */
export async function replaceRecoveryCodesOf(tx: Tx, userId: string): Promise<string[]> {
  const codes = Array.from({ length: codeCount }, () =>
    Array.from({ length: codeLength }, () => codeAlphabet[randomInt(codeAlphabet.length)]).join(""),
  );
  await deleteRecoveryCodes(tx, userId);
  await tx
    .insertInto("recovery_code")
    .values(codes.map((code) => ({ user_id: userId, code_hash: hashOf(code) })))
    .execute();
  return codes.map((code) => code.replaceAll(/.{4}(?=.)/g, "$&-"));
}

export async function deleteRecoveryCodes(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom("recovery_code").where("user_id", "=", userId).execute();
}

/** Uses a code up. False when it is none of the person's, or was used before. */
export async function useRecoveryCode(tx: Tx, userId: string, typed: string): Promise<boolean> {
  const used = await tx
    .updateTable("recovery_code")
    .set({ used_at: sql<Date>`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("code_hash", "=", hashOf(typed.toLowerCase().replaceAll(/[\s-]/g, "")))
    .where("used_at", "is", null)
    .returning("user_id")
    .execute();
  return used.length === 1;
}

function hashOf(code: string): Buffer {
  return createHash("sha256").update(`kule recovery code ${code}`).digest();
}
