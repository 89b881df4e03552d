import type { PayloadOf } from "@kule/contract/schemas";
import { findPackage } from "@kule/rules/catalog/packages";
import { connectionsOf } from "@kule/rules/load-balancers/machine-size";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { type CertificateMaterial, materialOf } from "../certificates/index.ts";
import {
  type ListenerRow,
  listenersOf,
  requestOfRow,
  viewHealthCheck,
  viewSticky,
} from "./listener-store.ts";
import { findLoadBalancer, type LoadBalancerDetails } from "./store.ts";
import { resolvedTargets } from "./target-store.ts";

type Payload = PayloadOf<"LoadBalancerApply">;

/** As cloud-init names the interfaces of a Linux guest, by the order of the VM's devices (`net0`, `net1`) and by their MACs. */
const interfaceName = "eth0";
const publicInterfaceName = "eth1";

/** All that the machines should have, from the present intent. */
export async function renderLoadBalancerPayload(tx: Tx, job: JobRow): Promise<Payload> {
  const row = await findLoadBalancer(tx, job.organisation_id, job.resource_id);
  if (row === null) throw new Error(`job ${job.id} has no load balancer`);
  const listeners = await listenersOf(tx, row);
  const [certificates, { targets }, vmids, prefixLength, publicAddress] = await Promise.all([
    materialOf(tx, row.organisation_id, [
      ...new Set(listeners.flatMap(({ certificate_ids }) => certificate_ids)),
    ]),
    resolvedTargets(tx, row),
    vmidsOf(tx, row),
    prefixLengthOf(tx, row),
    publicAddressOf(tx, row),
  ]);
  return {
    kind: "LoadBalancerApply",
    load_balancer: { id: row.id },
    generation: row.generation,
    algorithm: row.algorithm as Payload["algorithm"],
    listeners: listeners.map((listener) => payloadListener(listener, certificates)),
    targets: targets.map((target) => ({
      target_id: target.targetId,
      selected_server_id: target.selectedServerId,
      address: target.address,
      weight: target.weight,
      backup: target.backup,
      drain: target.drain,
    })),
    high_availability:
      row.vrid === null || row.shared_address === null
        ? null
        : {
            virtual_address: row.shared_address,
            prefix_length: prefixLength,
            vrid: row.vrid,
            public_address: publicAddress,
          },
    acme_thumbprint: row.acme_thumbprint,
    certificates: certificates.map(({ id, chain_pem, sealed_key, context }) => ({
      id,
      chain: chain_pem,
      sealed: sealed_key,
      context,
    })),
    machines: machinesOf(row, vmids),
  };
}

function payloadListener(
  row: ListenerRow,
  certificates: readonly CertificateMaterial[],
): Payload["listeners"][number] {
  const listener = requestOfRow(row);
  return {
    id: row.id,
    protocol: row.protocol as Payload["listeners"][number]["protocol"],
    port: row.port,
    target_port: row.target_port,
    redirect_to_https: row.redirect_to_https,
    sticky: viewSticky(listener.sticky),
    proxy_protocol: listener.proxyProtocol,
    idle_timeout_seconds: row.idle_timeout_seconds,
    allowed_cidrs: row.allowed_cidrs,
    health_check: viewHealthCheck(listener.healthCheck),
    certificates: row.certificate_ids.flatMap((id) => {
      const material = certificates.find((each) => each.id === id);
      return material === undefined ? [] : [{ id, domain_names: [...material.domain_names] }];
    }),
  };
}

/** A machine that is still to be resized has room for no more than both of its sizes. */
const memoryOf = (slug: string | null): number => findPackage(slug ?? "")?.memoryMb ?? 0;

/** Those whose VM exists: the end of the others' creation queues a job of its own. */
function machinesOf(row: LoadBalancerDetails, vmids: ReadonlyMap<string, number>): Payload["machines"] {
  return row.machines.flatMap((machine) => {
    const vmid = machine.server_id === null ? undefined : vmids.get(machine.server_id);
    const { server_id, private_ip, slot } = machine;
    if (!machine.is_created || machine.is_leaving || server_id === null || private_ip === null) return [];
    if (vmid === undefined) return [];
    const peer = row.machines.find((other) => other.slot !== slot)?.private_ip ?? null;
    return [
      {
        slot,
        server_id,
        vmid,
        address: private_ip,
        // Without the other machine nobody is there to hear it: the shared address is this machine's own.
        peer_address: row.ha ? (peer ?? row.shared_address) : null,
        interface_name: interfaceName,
        max_connections: connectionsOf(Math.min(memoryOf(machine.package), memoryOf(row.package))),
        has_state: machine.observed_generation > 0,
      },
    ];
  });
}

async function vmidsOf(
  tx: Tx,
  { region, machines }: LoadBalancerDetails,
): Promise<ReadonlyMap<string, number>> {
  const ids = machines.flatMap(({ server_id }) => (server_id === null ? [] : [server_id]));
  if (ids.length === 0) return new Map();
  const rows = await tx
    .selectFrom("region_vmid")
    .select(["server_id", "vmid"])
    .where("region", "=", region)
    .where("server_id", "in", ids)
    .where("state", "=", "used")
    .execute();
  return new Map(rows.map(({ server_id, vmid }) => [server_id ?? "", vmid]));
}

/** With ha, what moves with the shared address. The address of a single machine is its server's. */
async function publicAddressOf(
  tx: Tx,
  { organisation_id, id }: LoadBalancerDetails,
): Promise<NonNullable<Payload["high_availability"]>["public_address"]> {
  const row = await tx
    .selectFrom("public_ip")
    .innerJoin("ip_pool", "ip_pool.id", "public_ip.pool_id")
    .select([
      sql<string>`host(public_ip.address)`.as("address"),
      "ip_pool.prefix_length",
      sql<string>`host(ip_pool.gateway)`.as("gateway"),
    ])
    .where("public_ip.organisation_id", "=", organisation_id)
    .where("public_ip.load_balancer_id", "=", id)
    .executeTakeFirst();
  return row === undefined ? null : { ...row, interface_name: publicInterfaceName };
}

async function prefixLengthOf(tx: Tx, { organisation_id, subnet_id }: LoadBalancerDetails): Promise<number> {
  const { length } = await tx
    .selectFrom("subnet")
    .select(sql<number>`masklen(cidr)`.as("length"))
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", subnet_id)
    .executeTakeFirstOrThrow();
  return length;
}
