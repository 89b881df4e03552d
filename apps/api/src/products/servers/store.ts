import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type Selectable, type SelectQueryBuilder, sql } from "kysely";
import { ofRegionAnd } from "../../platform/alternatives.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { fixedRead } from "../../platform/fixed-read.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { isOneOf, labelledRows } from "../../platform/labelled.ts";
import { fetchPage, inOrder, type OneOf, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";
import { sightingsToReport } from "../inventory/index.ts";

export type ServerRow = Selectable<DB["server"]>;

/** An interface as the API shows it; joined from three tables. */
export type InterfaceRow = {
  readonly id: string;
  readonly subnet_id: string;
  readonly network_id: string;
  readonly private_ip: string;
  readonly mac: string;
  readonly primary: boolean;
};

/** How its VM differs from what is wanted; the time is text in JSON. */
export type DriftOfServer = {
  readonly kind: "changed" | "missing";
  readonly since: string;
  readonly differences: readonly {
    readonly field: string;
    readonly wanted: string | null;
    readonly seen: string | null;
  }[];
};

/** The age of what is known of it, by Postgres' clock. */
export type Ages = {
  readonly observed: number | null;
  /** Since its region's agent last reported its health. */
  readonly report: number | null;
  /** Since its guest agent was last queried. */
  readonly agent: number | null;
  /** The interval of that agent's scans. */
  readonly every: number;
};

/** A public address of the server, with the facts that its status is computed from. */
export type PublicIpOfServer = {
  readonly id: string;
  readonly address: string;
  readonly version: 4 | 6;
  readonly server_id: string | null;
  readonly held_by: string | null;
  readonly is_applied: boolean;
  readonly requires_reboot: boolean;
};

/** A server with all that its view needs. */
export type ServerDetails = ServerRow & {
  readonly public_ips: readonly PublicIpOfServer[];
  /** Attached to the server itself. */
  readonly firewall_ids: readonly string[];
  readonly interfaces: readonly InterfaceRow[];
  readonly drift: DriftOfServer | null;
  readonly ages: Ages;
  /** The newest open job. */
  readonly job_id: string | null;
  readonly job_kind: string | null;
  readonly job_action: string | null;
  readonly job_status: string | null;
};

const interfaces = sql<InterfaceRow[]>`coalesce((
  select json_agg(json_build_object('id', nic.id, 'subnet_id', nic.subnet_id, 'network_id', subnet.network_id,
                                    'private_ip', host(address.address), 'mac', nic.mac::text,
                                    'primary', nic.position = 0) order by nic.position)
    from nic
    join subnet on subnet.organisation_id = nic.organisation_id and subnet.id = nic.subnet_id
    join address on address.organisation_id = nic.organisation_id and address.nic_id = nic.id
   where nic.organisation_id = server.organisation_id and nic.server_id = server.id), '[]'::json)`;

const publicIps = sql<PublicIpOfServer[]>`coalesce((
  select json_agg(json_build_object('id', i.id, 'address', host(i.address), 'version', i.version,
                                    'server_id', i.server_id, 'held_by', i.held_by, 'is_applied', i.is_applied,
                                    'requires_reboot', i.requires_reboot) order by i.version, i.id)
    from public_ip i
   where i.organisation_id = server.organisation_id
     and (i.server_id = server.id or i.held_by = server.id and i.server_id is null)), '[]'::json)`;

const firewallIds = sql<string[]>`coalesce((
  select array_agg(a.firewall_id order by a.created_at, a.id)
    from firewall_attachment a
   where a.organisation_id = server.organisation_id and a.server_id = server.id), '{}')`;

const drift = sql<DriftOfServer | null>`(
  select json_build_object('kind', drift.kind, 'since', drift.first_seen_at, 'differences', drift.differences)
    from drift
   where drift.organisation_id = server.organisation_id and drift.server_id = server.id
     and drift.sightings >= ${sql.lit(sightingsToReport)} and drift.kind in ('changed', 'missing')
   limit 1)`;

const ages = sql<Ages>`(
  select json_build_object('observed', extract(epoch from clock_timestamp() - server.observed_at),
                           'report', extract(epoch from clock_timestamp() - region.health_at),
                           'agent', extract(epoch from clock_timestamp() - (server.guest ->> 'agent_at')::timestamptz),
                           'every', coalesce(region_inventory.every_seconds, 30))
    from region left join region_inventory on region_inventory.region = region.slug
   where region.slug = server.region and server.organisation_id is not null)`;

/** The organisation's servers, without the deleted ones. */
function serversOf(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("server")
    .where("server.organisation_id", "=", organisationId)
    .where("server.deleted_at", "is", null);
}

function serverDetails(db: Database | Tx, organisationId: string) {
  return serversOf(db, organisationId)
    .leftJoinLateral(
      (job) =>
        job
          .selectFrom("job")
          .select([
            "job.id",
            "job.kind",
            "job.status",
            sql<string | null>`job.parameters ->> 'action'`.as("action"),
          ])
          .whereRef("job.organisation_id", "=", "server.organisation_id")
          .whereRef("job.resource_id", "=", "server.id")
          .where("job.status", "in", ["queued", "running"])
          .orderBy("job.created_at", "desc")
          .limit(1)
          .as("open_job"),
      (join) => join.onTrue(),
    )
    .selectAll("server")
    .select([
      interfaces.as("interfaces"),
      publicIps.as("public_ips"),
      firewallIds.as("firewall_ids"),
      "open_job.id as job_id",
      "open_job.kind as job_kind",
      "open_job.action as job_action",
      "open_job.status as job_status",
      drift.as("drift"),
      ages.as("ages"),
    ]);
}

/** The server, or null when there is none such for the organisation; a removed one is not there either. */
export async function findServer(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<ServerDetails | null> {
  const [row] = await readServer(db, { organisationId, id });
  return row ?? null;
}

const readServer = fixedRead(["organisationId", "id"], (db, { organisationId, id }) =>
  serverDetails(db, organisationId).where("server.id", "=", id),
);

/** The server's row under its lock, a removed one included; null when it never was. */
export async function lockServer(tx: Tx, organisationId: string, id: string): Promise<ServerRow | null> {
  const row = await tx
    .selectFrom("server")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Whether one of its private addresses holds the text. */
const hasPrivateAddress = (typed: string) => sql`exists (
  select from nic
    join address on address.organisation_id = nic.organisation_id and address.nic_id = nic.id
   where nic.organisation_id = server.organisation_id and nic.server_id = server.id
     and position(${typed} in host(address.address)) > 0)`;

const EVERY_STATUS: { readonly [status in Schemas["ServerStatus"]]: true } = {
  creating: true,
  running: true,
  stopped: true,
  starting: true,
  stopping: true,
  rebooting: true,
  resizing: true,
  rebuilding: true,
  pending_deletion: true,
  deleting: true,
  error: true,
};

/** What a list asks for, by the index of regions and statuses; null when the index of the list's order finds it as well. */
function serverAlternatives(
  db: Database,
  { region, status, sort = "-created_at" }: Pick<RequestQuery<"listServers">, "region" | "status" | "sort">,
): Promise<OneOf["alternatives"] | null> {
  // The names of a region have an index, which is in the order of the names.
  if (status === undefined && !sort.endsWith("created_at")) return Promise.resolve(null);
  return ofRegionAnd(db, "server.status", { region, values: status }, Object.keys(EVERY_STATUS));
}

export async function listServers(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listServers">,
): Promise<Page<ServerDetails>> {
  const labelled = await labelledRows(db, "server", organisationId, query.label_selector);
  const filtered = <Row>(rows: SelectQueryBuilder<DB, "server", Row>) => {
    let wanted = rows.where("server.managed_by_type", query.managed === true ? "is not" : "is", null);
    if (query.name !== undefined) wanted = wanted.where("server.name", "=", query.name);
    if (query.q !== undefined)
      wanted = wanted.where(
        searchCondition(query.q, {
          texts: ["server.name"],
          labels: "server.labels",
          // Only these characters occur in an address, so a search for a name does not read the servers'
          // addresses.
          also: /^[0-9.]+$/.test(query.q) ? [hasPrivateAddress(query.q)] : [],
        }),
      );
    if (query.region !== undefined) wanted = wanted.where("server.region", "=", query.region);
    if (query.label_selector !== undefined)
      wanted = wanted.where(labelCondition(query.label_selector, "server.labels"));
    if (labelled !== null) wanted = wanted.where(isOneOf("server.id", labelled));
    return wanted;
  };
  const rows: SelectQueryBuilder<DB, "server", ServerDetails> = filtered(serverDetails(db, organisationId));
  const alternatives = await serverAlternatives(db, query);
  return fetchPage(
    rows,
    inOrder("servers", query, "server"),
    alternatives === null ? undefined : { rows: filtered(serversOf(db, organisationId)), alternatives },
  );
}

/** The key that secrets for the region are sealed to; null when its agent has not reported one. */
export async function findAgentKey(tx: Tx, region: string): Promise<string | null> {
  const row = await tx
    .selectFrom("region")
    .select("agent_public_key")
    .where("slug", "=", region)
    .executeTakeFirstOrThrow();
  return row.agent_public_key;
}

/** Id of the live server that has the name in the region; the removal buffer counts as live. */
export async function findNamesake(
  tx: Tx,
  organisationId: string,
  region: string,
  name: string,
): Promise<string | null> {
  const row = await tx
    .selectFrom("server")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .where("name", "=", name)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return row?.id ?? null;
}
