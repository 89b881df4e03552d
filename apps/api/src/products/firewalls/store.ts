import type { RequestQuery } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";

export type FirewallRow = Selectable<DB["firewall"]>;

/** A peer as the contract writes it: one property, by what it is. */
export type StoredPeer =
  | { readonly any: true }
  | { readonly cidr: string }
  | { readonly subnet_id: string }
  | { readonly network_id: string }
  | { readonly firewall_id: string }
  | { readonly label_selector: string };

export type StoredRule = {
  readonly id: string;
  readonly direction: "in" | "out";
  readonly action: "allow" | "deny";
  readonly protocol: "tcp" | "udp" | "icmp" | "icmpv6" | "any";
  readonly ports: readonly string[];
  readonly peers: readonly StoredPeer[];
  readonly priority: number;
  readonly description: string;
  readonly enabled: boolean;
};

/** Times are text in JSON. */
export type StoredAttachment = {
  readonly id: string;
  readonly server_id: string | null;
  readonly subnet_id: string | null;
  readonly label_selector: string | null;
  readonly name: string | null;
  readonly created_at: string;
};

export type FirewallDetails = FirewallRow & {
  readonly rules: readonly StoredRule[];
  readonly attachments: readonly StoredAttachment[];
};

const rules = sql<StoredRule[]>`coalesce((
  select json_agg(json_build_object(
           'id', r.id, 'direction', r.direction, 'action', r.action, 'protocol', r.protocol, 'ports', r.ports,
           'priority', r.priority, 'description', r.description, 'enabled', r.enabled,
           'peers', (select json_agg(case p.kind
                       when 'any' then json_build_object('any', true)
                       when 'cidr' then json_build_object('cidr', p.cidr::text)
                       when 'subnet' then json_build_object('subnet_id', p.subnet_id)
                       when 'network' then json_build_object('network_id', p.network_id)
                       when 'firewall' then json_build_object('firewall_id', p.peer_firewall_id)
                       else json_build_object('label_selector', p.label_selector) end order by p.position)
                       from firewall_peer p
                      where p.organisation_id = r.organisation_id and p.rule_id = r.id)) order by r.position)
    from firewall_rule r
   where r.organisation_id = firewall.organisation_id and r.firewall_id = firewall.id), '[]'::json)`;

const attachments = sql<StoredAttachment[]>`coalesce((
  select json_agg(json_build_object('id', a.id, 'server_id', a.server_id, 'subnet_id', a.subnet_id,
                                    'label_selector', a.label_selector, 'created_at', a.created_at,
                                    'name', case when a.server_id is not null then (
                                      select s.name from server s
                                       where s.organisation_id = a.organisation_id and s.id = a.server_id)
                                    when a.subnet_id is not null then (
                                      select n.name || '/' || u.name from subnet u
                                        join network n on n.organisation_id = u.organisation_id and n.id = u.network_id
                                       where u.organisation_id = a.organisation_id and u.id = a.subnet_id) end)
                  order by a.created_at, a.id)
    from firewall_attachment a
   where a.organisation_id = firewall.organisation_id and a.firewall_id = firewall.id), '[]'::json)`;

function firewallDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("firewall")
    .selectAll("firewall")
    .select([rules.as("rules"), attachments.as("attachments")])
    .where("firewall.organisation_id", "=", organisationId);
}

export function listFirewalls(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listFirewalls">,
): Promise<Page<FirewallDetails>> {
  let rows = firewallDetails(db, organisationId);
  if (query.name !== undefined) rows = rows.where("firewall.name", "=", query.name);
  if (query.q !== undefined)
    rows = rows.where(searchCondition(query.q, { texts: ["firewall.name"], labels: "firewall.labels" }));
  if (query.region !== undefined) rows = rows.where("firewall.region", "=", query.region);
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "firewall.labels"));
  return fetchPage(rows, inOrder("firewalls", query, "firewall"));
}

export async function findFirewall(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<FirewallDetails | null> {
  const row = await firewallDetails(db, organisationId).where("firewall.id", "=", id).executeTakeFirst();
  return row ?? null;
}

/** All firewalls of the organisation in a region, with their rules. */
export function firewallsOf(
  db: Database | Tx,
  organisationId: string,
  region: string,
): Promise<FirewallDetails[]> {
  return firewallDetails(db, organisationId).where("firewall.region", "=", region).execute();
}

/** The firewall under its row lock: only the holder changes it, its rules and its attachments. */
export async function lockFirewall(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<FirewallDetails | null> {
  const locked = await tx
    .selectFrom("firewall")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return locked === undefined ? null : findFirewall(tx, organisationId, id);
}

export async function changeFirewallRow(
  tx: Tx,
  { organisation_id, id }: Pick<FirewallRow, "organisation_id" | "id">,
  changes: { name?: string; description?: string; labels?: string } = {},
): Promise<void> {
  await tx
    .updateTable("firewall")
    .set({
      ...changes,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
}
