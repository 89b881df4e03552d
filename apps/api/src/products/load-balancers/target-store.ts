import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import {
  resolveTargets,
  type StoredTarget,
  type TargetResolution,
  type TargetServer,
} from "@kule/rules/load-balancers/resolve-targets";
import type { TargetRequest } from "@kule/rules/load-balancers/target";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { isOneOf, labelledRows } from "../../platform/labelled.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import type { LoadBalancerRow } from "./store.ts";

export type TargetRow = Omit<Selectable<DB["load_balancer_target"]>, "address"> & {
  readonly address: string | null;
};
type Owner = Pick<LoadBalancerRow, "organisation_id" | "id">;
type Placed = Owner & Pick<LoadBalancerRow, "region" | "network_id">;

function targets(db: Database | Tx, organisationId: string, loadBalancerId: string) {
  return db
    .selectFrom("load_balancer_target as target")
    .selectAll("target")
    .select(sql<string | null>`host(target.address)`.as("address"))
    .where("target.organisation_id", "=", organisationId)
    .where("target.load_balancer_id", "=", loadBalancerId);
}

export function listTargets(
  db: Database,
  organisationId: string,
  loadBalancerId: string,
  query: RequestQuery<"listTargets">,
): Promise<Page<TargetRow>> {
  return fetchPage(targets(db, organisationId, loadBalancerId), newestFirst("targets", query, "target"));
}

export async function findTarget(
  db: Database | Tx,
  organisationId: string,
  loadBalancerId: string,
  id: string,
): Promise<TargetRow | null> {
  const row = await targets(db, organisationId, loadBalancerId)
    .where("target.id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

export function targetsOf(db: Database | Tx, { organisation_id, id }: Owner): Promise<TargetRow[]> {
  return targets(db, organisation_id, id).orderBy("target.id").execute();
}

export async function insertTarget(
  tx: Tx,
  { organisation_id, id: loadBalancerId, region }: Pick<LoadBalancerRow, "organisation_id" | "id" | "region">,
  target: TargetRequest,
): Promise<string> {
  const id = newId("tgt");
  await tx
    .insertInto("load_balancer_target")
    .values({
      id,
      organisation_id,
      region,
      load_balancer_id: loadBalancerId,
      server_id: target.serverId,
      label_selector: target.labelSelector,
      address: target.address,
      weight: target.weight,
      backup: target.backup,
      drain: target.drain,
    })
    .execute();
  return id;
}

/** The servers that are named or have the labels that a selector asks for; null when these are many. */
async function candidatesOf(
  db: Database | Tx,
  organisationId: string,
  named: readonly string[],
  selectors: readonly string[],
): Promise<readonly string[] | null> {
  const found = await Promise.all(
    selectors.map((selector) => labelledRows(db, "server", organisationId, selector)),
  );
  return found.includes(null) ? null : [...named, ...found.flatMap((ids) => ids ?? [])];
}

/**
 * The servers of a load balancer's network that targets name or find: whose VM exists, and is nobody's but the organisation's.
 * Only these are read with their addresses: a network may have many more.
 */
async function targetServers(
  db: Database | Tx,
  { organisation_id, region, network_id }: Pick<LoadBalancerRow, "organisation_id" | "region" | "network_id">,
  targets: readonly TargetRow[],
): Promise<TargetServer[]> {
  const named = targets.flatMap(({ server_id }) => server_id ?? []);
  const selectors = targets.flatMap(({ label_selector }) => label_selector ?? []);
  const candidates = await candidatesOf(db, organisation_id, named, selectors);
  const wanted = [
    ...(named.length === 0 ? [] : [sql<boolean>`server.id = any (${named})`]),
    ...selectors.map((selector) => labelCondition(selector, "server.labels")),
  ];
  if (wanted.length === 0) return [];
  const rows = await db
    .selectFrom("server")
    .innerJoin("nic", (join) =>
      join
        .onRef("nic.organisation_id", "=", "server.organisation_id")
        .onRef("nic.server_id", "=", "server.id"),
    )
    .innerJoin("subnet", (join) =>
      join
        .onRef("subnet.organisation_id", "=", "nic.organisation_id")
        .onRef("subnet.id", "=", "nic.subnet_id"),
    )
    .innerJoin("address", (join) =>
      join
        .onRef("address.organisation_id", "=", "nic.organisation_id")
        .onRef("address.nic_id", "=", "nic.id"),
    )
    .select(["server.id", "server.labels", sql<string>`host(address.address)`.as("address")])
    .where("server.organisation_id", "=", organisation_id)
    .where("server.region", "=", region)
    .where("subnet.network_id", "=", network_id)
    .where(sql<boolean>`(${sql.join(wanted, sql` or `)})`)
    .$if(candidates !== null, (rows) => rows.where(isOneOf("server.id", candidates ?? [])))
    .where("server.deleted_at", "is", null)
    .where("server.managed_by_type", "is", null)
    .where("server.observed_generation", ">", 0)
    .where("server.status", "not in", ["pending_deletion", "deleting"])
    .orderBy("server.id")
    .orderBy("nic.position")
    .execute();
  const byId = new Map<string, TargetServer>();
  for (const { id, labels, address } of rows)
    if (!byId.has(id)) byId.set(id, { id, labels: labels as TargetServer["labels"], address });
  return [...byId.values()];
}

const storedTarget = (row: TargetRow): StoredTarget => ({
  id: row.id,
  serverId: row.server_id,
  labelSelector: row.label_selector,
  address: row.address,
  weight: row.weight,
  backup: row.backup,
  drain: row.drain,
});

/** The addresses that its targets stand for now. */
export async function resolvedTargets(db: Database | Tx, loadBalancer: Placed): Promise<TargetResolution> {
  const rows = await targetsOf(db, loadBalancer);
  const servers = await targetServers(db, loadBalancer, rows);
  return resolveTargets(rows.map(storedTarget), servers);
}

export function viewTarget(row: TargetRow): Schemas["Target"] {
  return {
    id: row.id,
    load_balancer_id: row.load_balancer_id,
    server_id: row.server_id,
    label_selector: row.label_selector,
    address: row.address,
    weight: row.weight,
    backup: row.backup,
    drain: row.drain,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
