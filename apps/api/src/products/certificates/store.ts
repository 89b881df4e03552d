import type { RequestQuery } from "@kule/contract/schemas";
import type { Certificate, CertificateVersion } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";

export type CertificateRow = Selectable<Certificate>;
type VersionRow = Selectable<CertificateVersion>;

/** Of the version in use. All are null while there is none. */
type ShownMaterial = Pick<
  VersionRow,
  "issuer" | "serial" | "key_type" | "names" | "not_before" | "not_after" | "fingerprint_sha256" | "warnings"
>;

/** A certificate with what is shown of its material; its key is not read. */
export type CertificateDetails = CertificateRow & {
  readonly [Column in keyof ShownMaterial]: ShownMaterial[Column] | null;
} & {
  readonly is_key_openable: boolean | null;
  /** Of the attempt to have it issued; null without one. */
  readonly order_state: string | null;
  /** The open job that makes its key. */
  readonly job_id: string | null;
  /** The CA has asked to wait. */
  readonly ca_waits: boolean;
  /** By Postgres' clock. */
  readonly read_at: Date;
};

const openJob = sql<string | null>`(
  select j.id from job j
   where j.organisation_id = certificate.organisation_id and j.resource_id = certificate.id
     and j.status in ('queued', 'running')
   order by j.status limit 1)`;

function certificateDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("certificate")
    .leftJoin("certificate_version", (join) =>
      join
        .onRef("certificate_version.organisation_id", "=", "certificate.organisation_id")
        .onRef("certificate_version.certificate_id", "=", "certificate.id")
        .onRef("certificate_version.version", "=", "certificate.version"),
    )
    .leftJoin("certificate_order", (join) =>
      join
        .onRef("certificate_order.organisation_id", "=", "certificate.organisation_id")
        .onRef("certificate_order.certificate_id", "=", "certificate.id"),
    )
    .innerJoin("region", "region.slug", "certificate.region")
    .selectAll("certificate")
    .select([
      "certificate_version.issuer",
      "certificate_version.serial",
      "certificate_version.key_type",
      "certificate_version.names",
      "certificate_version.not_before",
      "certificate_version.not_after",
      "certificate_version.fingerprint_sha256",
      "certificate_version.warnings",
      sql<boolean | null>`certificate_version.sealed_to = region.agent_public_key`.as("is_key_openable"),
      "certificate_order.state as order_state",
      openJob.as("job_id"),
      sql<boolean>`coalesce(certificate.ca_retry_at > clock_timestamp(), false)`.as("ca_waits"),
      sql<Date>`clock_timestamp()`.as("read_at"),
    ])
    .where("certificate.organisation_id", "=", organisationId);
}

export function certificatesById(
  db: Database | Tx,
  organisationId: string,
  ids: readonly string[],
): Promise<CertificateDetails[]> {
  return certificateDetails(db, organisationId)
    .where("certificate.id", "in", [...ids])
    .orderBy("certificate.id")
    .execute();
}

export async function findCertificate(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<CertificateDetails | null> {
  const row = await certificateDetails(db, organisationId)
    .where("certificate.id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/** The certificate as this transaction has written it. */
export async function writtenCertificate(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<CertificateDetails> {
  const row = await findCertificate(tx, organisationId, id);
  if (row === null) throw new Error(`certificate ${id} went away while it was written`);
  return row;
}

export function listCertificates(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listCertificates">,
): Promise<Page<CertificateDetails>> {
  let rows = certificateDetails(db, organisationId);
  if (query.name !== undefined) rows = rows.where("certificate.name", "=", query.name);
  if (query.q !== undefined)
    rows = rows.where(
      searchCondition(query.q, {
        texts: ["certificate.name"],
        labels: "certificate.labels",
        also: [sql`position(lower(${query.q}::text) in array_to_string(certificate.domain_names, ' ')) > 0`],
      }),
    );
  if (query.region !== undefined) rows = rows.where("certificate.region", "=", query.region);
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "certificate.labels"));
  return fetchPage(rows, inOrder("certificates", query, "certificate"));
}

/** The certificate under its row lock, or null when it was deleted concurrently. */
export async function lockCertificate(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<CertificateRow | null> {
  const row = await tx
    .selectFrom("certificate")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Id of the organisation's certificate with that name, if any. */
export async function findNamesake(tx: Tx, organisationId: string, name: string): Promise<string | null> {
  const row = await tx
    .selectFrom("certificate")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("name", "=", name)
    .executeTakeFirst();
  return row?.id ?? null;
}

export async function insertCertificate(tx: Tx, values: Insertable<Certificate>): Promise<void> {
  await tx.insertInto("certificate").values(values).execute();
}

export async function updateCertificateRow(
  tx: Tx,
  organisationId: string,
  id: string,
  changes: { readonly name?: string; readonly labels?: string },
): Promise<void> {
  await tx
    .updateTable("certificate")
    .set({ ...changes, generation: sql<number>`generation + 1`, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/** A number for new material. The certificate's row is locked. */
export async function giveVersion(
  tx: Tx,
  { id, organisation_id }: Pick<CertificateRow, "id" | "organisation_id">,
): Promise<number> {
  const row = await tx
    .updateTable("certificate")
    .set({ last_version: sql<number>`last_version + 1` })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .returning("last_version")
    .executeTakeFirstOrThrow();
  return row.last_version;
}

/** With its material. */
export async function deleteCertificateRow(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom("certificate")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/** The key that secrets for the region are sealed to; null before an agent of it has reported one. */
export async function findAgentKey(tx: Database | Tx, region: string): Promise<string | null> {
  const row = await tx
    .selectFrom("region")
    .select("agent_public_key")
    .where("slug", "=", region)
    .executeTakeFirstOrThrow();
  return row.agent_public_key;
}
