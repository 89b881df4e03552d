import { type AcmeAccount, openAccount } from "@kule/certificates/acme/account";
import {
  decryptAccountKey,
  encryptAccountKey,
  keyThumbprint,
  makeAccountKey,
} from "@kule/certificates/acme/account-key";
import type { AcmeClient } from "@kule/certificates/acme/acme-client";
import type { ExternalAccount } from "@kule/certificates/acme/jws";
import { type MasterKeys, masterKeyIdOf } from "@kule/certificates/master-key";
import type { AcmeAccount as AccountRow } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database } from "../../platform/database.ts";

/** The CA as the worker asks it. */
export type CertificateAuthority = {
  readonly client: AcmeClient;
  readonly directoryUrl: string;
  readonly contactEmails: readonly string[];
  readonly external: ExternalAccount | null;
  readonly masterKeys: MasterKeys;
};

/**
 * The installation's account at the CA; made with the first use. Of several workers that make its key at the same time one
 * does.
 */
export async function acmeAccount(
  db: Database,
  { client, directoryUrl, contactEmails, external, masterKeys }: CertificateAuthority,
  signal: AbortSignal,
): Promise<AcmeAccount & { readonly thumbprint: string }> {
  const row = await useAccountKey(db, { directoryUrl, masterKeys });
  const key = decryptAccountKey(masterKeys, row.encrypted_key, directoryUrl);
  if (masterKeyIdOf(row.encrypted_key) !== masterKeys.currentId)
    await db
      .updateTable("acme_account")
      .set({ encrypted_key: encryptAccountKey(masterKeys, key, directoryUrl) })
      .where("directory_url", "=", directoryUrl)
      .where("encrypted_key", "=", row.encrypted_key)
      .execute();
  const { thumbprint } = row;
  if (row.account_url !== null) return { key, accountUrl: row.account_url, thumbprint };
  const settings = {
    contactEmails,
    agreesToTerms: true,
    ...(external === null ? {} : { external }),
  };
  const { accountUrl } = await openAccount(client, key, settings, signal);
  await noteAccountUrl(db, directoryUrl, accountUrl);
  return { key, accountUrl, thumbprint };
}

/**
 * The key of that account, made with the first use and without asking the CA: load balancers answer with its thumbprint, and have
 * to know it before there is an order. Of several CAs, the one that was taken into use last is the one that they answer.
 */
export async function useAccountKey(
  db: Database,
  { directoryUrl, masterKeys }: Pick<CertificateAuthority, "directoryUrl" | "masterKeys">,
): Promise<Selectable<AccountRow>> {
  await db
    .updateTable("acme_account")
    .set({ in_use_since: sql<Date>`clock_timestamp()` })
    .where("directory_url", "=", directoryUrl)
    .where(
      sql<boolean>`exists (select from acme_account other where other.directory_url <> acme_account.directory_url
        and other.in_use_since >= acme_account.in_use_since)`,
    )
    .execute();
  const found = () =>
    db.selectFrom("acme_account").selectAll().where("directory_url", "=", directoryUrl).executeTakeFirst();
  const row = await found();
  if (row !== undefined) return row;
  const key = makeAccountKey();
  await db
    .insertInto("acme_account")
    .values({
      directory_url: directoryUrl,
      encrypted_key: encryptAccountKey(masterKeys, key, directoryUrl),
      thumbprint: keyThumbprint(key),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const made = await found();
  if (made === undefined) throw new Error("the key of the account at the CA was not kept");
  return made;
}

/** @param accountUrl null: the CA does not have it any more, and the next use makes it again with the same key */
export async function noteAccountUrl(
  db: Database,
  directoryUrl: string,
  accountUrl: string | null,
): Promise<void> {
  await db
    .updateTable("acme_account")
    .set({ account_url: accountUrl })
    .where("directory_url", "=", directoryUrl)
    .execute();
}

/** What answers over HTTP contain; null before the first use of the CA. */
export async function acmeThumbprint(db: Database, directoryUrl: string): Promise<string | null> {
  const row = await db
    .selectFrom("acme_account")
    .select("thumbprint")
    .where("directory_url", "=", directoryUrl)
    .executeTakeFirst();
  return row?.thumbprint ?? null;
}
