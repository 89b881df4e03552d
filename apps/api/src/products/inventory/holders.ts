import type { DB } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { sizeOf } from "./capacity.ts";

type ServerRow = Selectable<DB["server"]>;

/** A server of the region, with what an observation of its VM may change. */
export type Holder = {
  readonly server: ServerRow;
  readonly vmid: number;
  readonly hasOpenJob: boolean;
  /** When its last job ended. Earlier observations are outdated. */
  readonly lastJobEnd: Date | null;
  /** The largest disk that was ever requested. */
  readonly orderedDiskGb: number;
  readonly interfaces: readonly {
    readonly position: number;
    readonly mac: string;
    readonly vlan: number | null;
    readonly address: string | null;
    /** A load balancer's, which its other server may use too. */
    readonly shared: readonly string[];
  }[];
  /** The public addresses that its VM has, or may have. */
  readonly publicIps: readonly {
    readonly address: string;
    readonly vlan: number | null;
    /** The region has confirmed that it has it, and it is to stay. */
    readonly isSettled: boolean;
    readonly id: string;
    /** Its running guest applies it at the next boot, and has not been updated since this time. */
    readonly rebootSince: Date | null;
  }[];
};

const why = "an agent looks at the servers of all organisations in its region";

/**
 * The live servers with these numbers, locked. A server that is being changed at this moment is left out: it
 * is scanned again soon, and no transaction waits for another. The jobs are read after the locks, because
 * every job is written under its server's lock: what is read then stays true.
 */
export async function lockHolders(
  tx: Tx,
  region: string,
  vmids: readonly number[],
): Promise<{ readonly holders: Map<number, Holder>; readonly skipped: ReadonlySet<number> }> {
  const db = systemQuery(tx, why);
  const held = await db
    .selectFrom("region_vmid")
    .select(["vmid", "server_id"])
    .where("region", "=", region)
    .where("vmid", "in", [...vmids, -1])
    .where("state", "=", "used")
    .execute();
  const ids = held.flatMap(({ server_id }) => (server_id === null ? [] : [server_id]));
  const rows = await db
    .selectFrom("server")
    .selectAll()
    .where("id", "in", [...ids, ""])
    .where("region", "=", region)
    .where("status", "<>", "deleted")
    .orderBy("id")
    .forUpdate()
    .skipLocked()
    .execute();
  const [jobs, nics, publicIps] = await Promise.all([
    jobsOf(tx, rows),
    interfacesOf(tx, rows),
    publicIpsOf(tx, rows),
  ]);
  const holders = new Map<number, Holder>();
  const skipped = new Set<number>();
  for (const { vmid, server_id } of held) {
    const server = rows.find(({ id }) => id === server_id);
    if (server === undefined) skipped.add(vmid);
    else
      holders.set(vmid, {
        server,
        vmid,
        hasOpenJob: jobs.get(server.id)?.has_open_job ?? false,
        lastJobEnd: jobs.get(server.id)?.last_end ?? null,
        orderedDiskGb: Math.max(
          sizeOf(server.package, server.disk_gb).diskGb,
          jobs.get(server.id)?.ordered_disk_gb ?? 0,
        ),
        interfaces: nics.filter((nic) => nic.server_id === server.id),
        publicIps: publicIps.filter(
          ({ held_by, load_balancer_id }) =>
            held_by === server.id || (load_balancer_id !== null && load_balancer_id === server.managed_by_id),
        ),
      });
  }
  return { holders, skipped };
}

type JobsRow = {
  readonly resource_id: string;
  readonly has_open_job: boolean;
  readonly last_end: Date | null;
  readonly ordered_disk_gb: number | null;
};

/** The jobs of servers by their ids, including servers that are gone. */
export async function jobsOf(
  tx: Tx,
  servers: readonly { readonly id: string; readonly organisation_id: string }[],
): Promise<Map<string, JobsRow>> {
  if (servers.length === 0) return new Map();
  const rows = await systemQuery(tx, why)
    .selectFrom("job")
    .select([
      "resource_id",
      sql<boolean>`bool_or(status in ('queued', 'running'))`.as("has_open_job"),
      sql<Date | null>`max(finished_at)`.as("last_end"),
      sql<number | null>`max((parameters ->> 'disk_gb')::integer) filter (where kind = 'ServerResize')`.as(
        "ordered_disk_gb",
      ),
    ])
    .where("organisation_id", "in", [...new Set(servers.map((each) => each.organisation_id))])
    .where(
      "resource_id",
      "in",
      servers.map(({ id }) => id),
    )
    .groupBy("resource_id")
    .execute();
  return new Map(rows.map((row) => [row.resource_id, row]));
}

async function interfacesOf(tx: Tx, servers: readonly ServerRow[]) {
  if (servers.length === 0) return [];
  return systemQuery(tx, why)
    .selectFrom("nic")
    .leftJoin("region_vlan", (join) =>
      join
        .onRef("region_vlan.subnet_id", "=", "nic.subnet_id")
        .onRef("region_vlan.region", "=", "nic.region"),
    )
    .leftJoin("address", "address.nic_id", "nic.id")
    .select([
      "nic.server_id",
      "nic.position",
      sql<string>`nic.mac::text`.as("mac"),
      "region_vlan.vlan",
      sql<string | null>`host(address.address)`.as("address"),
      sql<string[]>`array(select host(a.address) from address a
        where a.organisation_id = nic.organisation_id and a.subnet_id = nic.subnet_id
          and a.load_balancer_id = (select s.managed_by_id from server s
            where s.organisation_id = nic.organisation_id and s.id = nic.server_id))`.as("shared"),
    ])
    .where(
      "nic.server_id",
      "in",
      servers.map(({ id }) => id),
    )
    .orderBy("nic.position")
    .execute();
}

async function publicIpsOf(tx: Tx, servers: readonly ServerRow[]) {
  if (servers.length === 0) return [];
  return systemQuery(tx, why)
    .selectFrom("public_ip")
    .innerJoin("ip_pool", "ip_pool.id", "public_ip.pool_id")
    .select([
      "public_ip.held_by",
      "public_ip.load_balancer_id",
      "public_ip.id",
      "public_ip.reboot_since as rebootSince",
      sql<string>`host(public_ip.address)`.as("address"),
      "ip_pool.vlan",
      // One that a load balancer's servers share: each may use it from its creation on.
      sql<boolean>`public_ip.load_balancer_id is not null
        or public_ip.is_applied and public_ip.server_id = public_ip.held_by`.as("isSettled"),
    ])
    .where("public_ip.organisation_id", "in", [...new Set(servers.map((each) => each.organisation_id))])
    .where((is) =>
      is.or([
        is(
          "public_ip.held_by",
          "in",
          servers.map(({ id }) => id),
        ),
        is("public_ip.load_balancer_id", "in", ["", ...servers.flatMap(balancerOf)]),
      ]),
    )
    .orderBy("public_ip.version")
    .execute();
}

const balancerOf = ({ managed_by_type: type, managed_by_id: id }: ServerRow): string[] =>
  type === "load_balancer" && id !== null ? [id] : [];
