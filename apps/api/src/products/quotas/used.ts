import { findPackage } from "@kule/rules/catalog/packages";
import type { QuotaName } from "@kule/rules/quotas/names";
import {
  addQuota,
  heldInRemoval,
  largerQuota,
  type QuotaAmounts,
  serverQuota,
} from "@kule/rules/quotas/quotas";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";

export type QuotaUse = {
  readonly used: QuotaAmounts;
  /** The part of it that servers being deleted still use. */
  readonly reserved: QuotaAmounts;
};

const ofServers: readonly QuotaName[] = ["servers", "vcpu", "memory_mb", "disk_gb"];

/** How much the organisation has of these, counted from the rows. */
export async function countUse(
  db: Database | Tx,
  organisationId: string,
  names: readonly QuotaName[],
): Promise<QuotaUse> {
  const wants = (...some: QuotaName[]) => some.some((name) => names.includes(name));
  const servers = wants(...ofServers) ? await countServers(db, organisationId) : { used: {}, reserved: {} };
  return {
    used: {
      ...servers.used,
      ...(wants("networks") ? { networks: await count(db, "network", organisationId) } : {}),
      ...(wants("subnets") ? { subnets: await count(db, "subnet", organisationId) } : {}),
      ...(wants("public_ips") ? { public_ips: await count(db, "public_ip", organisationId) } : {}),
      ...(wants("ssh_keys") ? { ssh_keys: await count(db, "ssh_key", organisationId) } : {}),
      ...(wants("firewalls") ? { firewalls: await count(db, "firewall", organisationId) } : {}),
      ...(wants("firewall_rules")
        ? { firewall_rules: await count(db, "firewall_rule", organisationId) }
        : {}),
      ...(wants("gateways") ? { gateways: await count(db, "gateway", organisationId) } : {}),
      ...(wants("members") ? { members: await countPlaces(db, organisationId) } : {}),
    },
    reserved: servers.reserved,
  };
}

async function countServers(db: Database | Tx, organisationId: string): Promise<QuotaUse> {
  const groups = await db
    .selectFrom("server")
    .select([
      "package",
      "disk_gb",
      "resize_package",
      "resize_disk_gb",
      sql<boolean>`status in ('pending_deletion', 'deleting')`.as("is_leaving"),
      sql<number>`count(*)::integer`.as("servers"),
    ])
    .where("organisation_id", "=", organisationId)
    .where("deleted_at", "is", null)
    .groupBy(["package", "disk_gb", "resize_package", "resize_disk_gb", "is_leaving"])
    .execute();
  let use: QuotaUse = { used: {}, reserved: {} };
  for (const group of groups) {
    const one = quotaOfServer(group);
    const held = group.is_leaving ? heldInRemoval(one) : one;
    use = {
      used: addQuota(use.used, held, group.servers),
      reserved: group.is_leaving ? addQuota(use.reserved, held, group.servers) : use.reserved,
    };
  }
  return use;
}

/**
 * A disk may be larger than the package's, and a server that is being resized counts the larger of both
 * sizes.
 */
function quotaOfServer(server: {
  readonly package: string;
  readonly disk_gb: number | null;
  readonly resize_package: string | null;
  readonly resize_disk_gb: number | null;
}): QuotaAmounts {
  const has = quotaOfPackage(server.package);
  const now = { ...has, disk_gb: server.disk_gb ?? has.disk_gb ?? 0 };
  if (server.resize_package === null) return now;
  const coming = quotaOfPackage(server.resize_package);
  return largerQuota(now, { ...coming, disk_gb: server.resize_disk_gb ?? 0 });
}

/** The quota that a server of the package uses. */
export function quotaOfPackage(slug: string): QuotaAmounts {
  const found = findPackage(slug);
  if (found === undefined) throw new Error(`there is no package ${slug}`);
  return serverQuota(found);
}

/** An open invitation has a place already: accepting it takes none. */
async function countPlaces(db: Database | Tx, organisationId: string): Promise<number> {
  const members = await count(db, "member", organisationId);
  return members + (await countOpenInvitations(db, organisationId));
}

async function countOpenInvitations(db: Database | Tx, organisationId: string): Promise<number> {
  const { rows } = await db
    .selectFrom("invitation")
    .select(sql<number>`count(*)::integer`.as("rows"))
    .where("organisation_id", "=", organisationId)
    .where("accepted_at", "is", null)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .executeTakeFirstOrThrow();
  return rows;
}

async function count(
  db: Database | Tx,
  table: "network" | "subnet" | "ssh_key" | "public_ip" | "firewall" | "firewall_rule" | "gateway" | "member",
  organisationId: string,
): Promise<number> {
  const { rows } = await db
    .selectFrom(table)
    .select(sql<number>`count(*)::integer`.as("rows"))
    .where("organisation_id", "=", organisationId)
    .executeTakeFirstOrThrow();
  return rows;
}
