import { findPackage } from "@kule/rules/catalog/packages";
import type { QuotaName } from "@kule/rules/quotas/names";
import {
  addQuota,
  heldInRemoval,
  largerQuota,
  managedServerQuota,
  type QuotaAmounts,
  serverQuota,
} from "@kule/rules/quotas/quotas";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { sendAhead } from "../../platform/transaction.ts";

export type QuotaUse = {
  readonly used: QuotaAmounts;
  /** The part of it that servers being deleted still use. */
  readonly reserved: QuotaAmounts;
};

/** The tables that are counted under the name of a quota. */
const resources = {
  network: "networks",
  subnet: "subnets",
  ssh_key: "ssh_keys",
  public_ip: "public_ips",
  firewall: "firewalls",
  firewall_rule: "firewall_rules",
  gateway: "gateways",
  domain: "domains",
  certificate: "certificates",
  load_balancer: "load_balancers",
  member: "members",
} as const satisfies { readonly [resource: string]: QuotaName };

/** More rows of an organisation than this are replaced by their sums. */
const mostRows = 500;

/** How much the organisation has, by the rows that the database keeps as its resources come, go and change size. */
export async function readUse(db: Database | Tx, organisationId: string): Promise<QuotaUse> {
  return (await readCounts(db, organisationId, true)).use;
}

/** The same under the organisation's lock; many rows are replaced by their sums for the next reader. */
export async function readUseUnderLock(
  tx: Tx,
  organisationId: string,
  asked: { readonly members: boolean },
): Promise<QuotaUse> {
  const { use, rows } = await readCounts(tx, organisationId, asked.members);
  if (rows > mostRows) sendAhead(tx, foldCounts(organisationId));
  return use;
}

const foldCounts = (organisationId: string) =>
  sql`select kule_fold_quota_counts(p_organisation_id => ${organisationId})`;

/** Replaces the rows of every organisation that has many of them by their sums. */
export async function foldLongCounts(db: Database): Promise<void> {
  const long = await db
    .selectFrom("quota_count")
    .select("organisation_id")
    .groupBy("organisation_id")
    .having(sql<number>`count(*)`, ">", mostRows)
    .execute();
  for (const { organisation_id } of long) await foldCounts(organisation_id).execute(db);
}

async function readCounts(db: Database | Tx, organisationId: string, withInvitations: boolean) {
  const [groups, invitations] = await Promise.all([
    db
      .selectFrom("quota_count")
      .select(["resource", "package", "disk_gb", "resize_package", "resize_disk_gb", "is_leaving"])
      .select([sql<number>`sum(amount)::integer`.as("amount"), sql<number>`count(*)::integer`.as("rows")])
      .where("organisation_id", "=", organisationId)
      .groupBy(["resource", "package", "disk_gb", "resize_package", "resize_disk_gb", "is_leaving"])
      .execute(),
    withInvitations ? countOpenInvitations(db, organisationId) : 0,
  ]);
  // An open invitation has a place already: accepting it takes none.
  let use: QuotaUse = { used: { members: invitations }, reserved: {} };
  let rows = 0;
  for (const group of groups) {
    rows += group.rows;
    use = addGroup(use, group);
  }
  return { use, rows };
}

type Group = {
  readonly resource: string;
  readonly package: string | null;
  readonly disk_gb: number | null;
  readonly resize_package: string | null;
  readonly resize_disk_gb: number | null;
  readonly is_leaving: boolean;
  readonly amount: number;
};

function addGroup({ used, reserved }: QuotaUse, group: Group): QuotaUse {
  if (group.package === null) {
    const name = resources[group.resource as keyof typeof resources];
    return { used: addQuota(used, { [name]: group.amount }), reserved };
  }
  const size = quotaOfServer({ ...group, package: group.package });
  const one = group.resource === "managed_server" ? managedServerQuota(size) : size;
  const held = group.is_leaving ? heldInRemoval(one) : one;
  return {
    used: addQuota(used, held, group.amount),
    reserved: group.is_leaving ? addQuota(reserved, held, group.amount) : reserved,
  };
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
