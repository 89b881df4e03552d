import { AcmeGone, AcmeRefused, AcmeUnavailable } from "@kule/certificates/acme/acme-error";
import { readRenewalInfo } from "@kule/certificates/acme/renewal-info";
import { daysLeft, dueWarning, type WarningDay } from "@kule/rules/certificates/expiry";
import { renewalTime } from "@kule/rules/certificates/renewal";
import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import type { Deps } from "../../platform/deps.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { bySystem } from "../domains/index.ts";
import { type CertificateAuthority, useAccountKey } from "./acme-account.ts";
import { noteSystemChange } from "./finish-order.ts";
import type { CertificateHooks } from "./hooks.ts";
import { materialOf } from "./material-store.ts";
import { beginAttempt, findOrder } from "./order-store.ts";
import { stepOrder } from "./step-order.ts";
import { findCertificate, lockCertificate } from "./store.ts";

/** How many of each one run looks after; the next one continues. */
const mostAtOnce = 50;
/** Of one pass. What fails for one certificate in a way that nobody expects may fail for all. */
const mostErrorsLogged = 5;

export type LookedAfter = {
  /** Whose renewal has begun. */
  readonly renewed: number;
  /** Orders whose step was due and that no task had done. */
  readonly stepped: number;
  /** For which the CA was asked when to renew them. */
  readonly asked: number;
  readonly warned: number;
};

type Found = { readonly id: string; readonly organisation_id: string };
type Own = {
  readonly deps: Pick<Deps, "db" | "dns" | "log">;
  readonly ca: CertificateAuthority | null;
  readonly hooks: readonly CertificateHooks[];
};

const allOf = (db: Database) =>
  systemQuery(db, "the worker looks after the certificates of all organisations");

/** What is due for certificates: renewals, steps of orders that were lost, the CA's own plans, warnings before their end. */
export async function lookAfterCertificates(own: Own): Promise<LookedAfter> {
  const { db } = own.deps;
  if (own.ca !== null) await useAccountKey(db, own.ca);
  const due = own.ca === null ? [] : [...(await dueRenewals(db)), ...(await withoutKey(db))];
  let renewed = 0;
  for (const found of due) if (await renew(db, found)) renewed += 1;
  let stepped = 0;
  for (const { certificate_id, organisation_id } of await dueOrders(db))
    if (await stepOrder(own, organisation_id, certificate_id)) stepped += 1;
  const asked = own.ca === null ? 0 : await askForWindows(own, own.ca);
  return { renewed, stepped, asked, warned: await warn(db) };
}

function dueRenewals(db: Database): Promise<Found[]> {
  return allOf(db)
    .selectFrom("certificate")
    .select(["id", "organisation_id"])
    .where(sql<boolean>`renew_at <= clock_timestamp()`)
    .where(
      sql<boolean>`not exists (select from certificate_order o
        where o.organisation_id = certificate.organisation_id and o.certificate_id = certificate.id)`,
    )
    .orderBy("renew_at")
    .limit(mostAtOnce)
    .execute();
}

/** Managed ones whose region has another key since not long ago: they are issued anew. */
function withoutKey(db: Database): Promise<Found[]> {
  return allOf(db)
    .selectFrom("region")
    .innerJoin("certificate", "certificate.region", "region.slug")
    .innerJoin("certificate_version", (join) =>
      join
        .onRef("certificate_version.organisation_id", "=", "certificate.organisation_id")
        .onRef("certificate_version.certificate_id", "=", "certificate.id"),
    )
    .select(["certificate.id", "certificate.organisation_id"])
    .where(sql<boolean>`region.agent_key_since > clock_timestamp() - interval '7 days'`)
    .where("certificate.type", "=", "managed")
    .where(sql<boolean>`certificate_version.sealed_to <> region.agent_public_key`)
    .where(
      sql<boolean>`not exists (select from certificate_order o
        where o.organisation_id = certificate.organisation_id and o.certificate_id = certificate.id)`,
    )
    .limit(mostAtOnce)
    .execute();
}

function dueOrders(db: Database): Promise<{ certificate_id: string; organisation_id: string }[]> {
  return allOf(db)
    .selectFrom("certificate_order")
    .select(["certificate_id", "organisation_id"])
    .where(sql<boolean>`step_at <= clock_timestamp()`)
    .orderBy("step_at")
    .limit(mostAtOnce)
    .execute();
}

async function renew(db: Database, { id, organisation_id }: Found): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    actAs(tx, organisation_id);
    const certificate = await lockCertificate(tx, organisation_id, id);
    if (certificate === null || (await findOrder(tx, organisation_id, id)) !== null) return false;
    await beginAttempt(tx, certificate, bySystem("certificate renewal"));
    return true;
  });
}

/**
 * Asks the CA when it wants certificates to be renewed (ARI), each when it has said. One for which that fails, for whatever
 * reason, keeps no other from its turn, in this pass or in the next.
 */
async function askForWindows({ deps: { db, log } }: Own, ca: CertificateAuthority): Promise<number> {
  const due = await allOf(db)
    .selectFrom("certificate")
    .select(["id", "organisation_id"])
    .where("renew_at", "is not", null)
    .where(sql<boolean>`(window_asked_at is null or window_asked_at <= clock_timestamp())`)
    .orderBy(sql`window_asked_at nulls first`)
    .limit(mostAtOnce)
    .execute();
  let unexpected = 0;
  for (const found of due) {
    try {
      await askForWindow(db, ca, found);
    } catch (error) {
      const { id, organisation_id } = found;
      if (error instanceof AcmeUnavailable || error instanceof AcmeRefused || error instanceof AcmeGone)
        log.warn({ err: error, certificate: id }, "the CA does not say when to renew a certificate");
      else {
        unexpected += 1;
        if (unexpected <= mostErrorsLogged)
          log.error({ err: error, certificate: id }, "the CA could not be asked when to renew a certificate");
      }
      await db
        .updateTable("certificate")
        .set({ window_asked_at: sql<Date>`clock_timestamp() + interval '1 hour'` })
        .where("organisation_id", "=", organisation_id)
        .where("id", "=", id)
        .execute();
    }
  }
  if (unexpected > mostErrorsLogged)
    log.error({ certificates: unexpected }, "the CA could not be asked when to renew some certificates");
  return due.length;
}

async function askForWindow(
  db: Database,
  ca: CertificateAuthority,
  { id, organisation_id }: Found,
): Promise<void> {
  const certificate = await findCertificate(db, organisation_id, id);
  const [material] = await materialOf(db, organisation_id, [id]);
  if (certificate === null || material === undefined) return;
  const info = await readRenewalInfo(ca.client, material.chain_pem, AbortSignal.timeout(30_000));
  const window =
    info === null ? null : { startMs: info.windowStart.getTime(), endMs: info.windowEnd.getTime() };
  const lifetime = {
    notBeforeMs: certificate.not_before?.getTime() ?? 0,
    notAfterMs: certificate.not_after?.getTime() ?? 0,
  };
  await db
    .updateTable("certificate")
    .set({
      window_start: info?.windowStart ?? null,
      window_end: info?.windowEnd ?? null,
      // By the CA's own wish; without ARI it may have it one day.
      window_asked_at: sql<Date>`clock_timestamp() + make_interval(secs => ${
        info === null ? 86_400 : (info.lookAgainAt.getTime() - ca.client.now().getTime()) / 1_000
      })`,
      renew_at: new Date(renewalTime(lifetime, window, certificate.renewal_share)),
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .where("version", "=", material.version)
    .execute();
}

/** Notes that certificates are about to expire, each number of days once. */
async function warn(connection: Database): Promise<number> {
  const due = await allOf(connection)
    .selectFrom("certificate_version")
    .innerJoin("certificate", (join) =>
      join
        .onRef("certificate.organisation_id", "=", "certificate_version.organisation_id")
        .onRef("certificate.id", "=", "certificate_version.certificate_id"),
    )
    .select(["certificate.id", "certificate.organisation_id"])
    .where(
      sql<boolean>`certificate_version.not_after between clock_timestamp() and clock_timestamp() + interval '30 days'`,
    )
    .where(
      sql<boolean>`certificate_version.not_after <= clock_timestamp() + make_interval(days =>
        case when certificate.warned_days is null then 30 when certificate.warned_days > 14 then 14
             when certificate.warned_days > 7 then 7 when certificate.warned_days > 1 then 1 else 0 end)`,
    )
    .orderBy("certificate_version.not_after")
    .limit(mostAtOnce)
    .execute();
  let warned = 0;
  for (const found of due) if (await warnOf(connection, found)) warned += 1;
  return warned;
}

function warnOf(db: Database, { id, organisation_id }: Found): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    actAs(tx, organisation_id);
    if ((await lockCertificate(tx, organisation_id, id)) === null) return false;
    const certificate = await findCertificate(tx, organisation_id, id);
    if (certificate === null || certificate.not_after === null) return false;
    const [endMs, nowMs] = [certificate.not_after.getTime(), certificate.read_at.getTime()];
    const days = dueWarning(endMs, nowMs, certificate.warned_days as WarningDay | null);
    if (days === null) return false;
    await tx
      .updateTable("certificate")
      .set({ warned_days: days })
      .where("organisation_id", "=", organisation_id)
      .where("id", "=", id)
      .execute();
    noteSystemChange(tx, certificate, "certificate.expires_soon", {
      name: certificate.name,
      days_left: daysLeft(endMs, nowMs),
      not_after: certificate.not_after.toISOString(),
    });
    return true;
  });
}
