import type { JobPayload, PayloadOf } from "@kule/contract/schemas";
import { findImage, osFamilyOf } from "@kule/rules/catalog/images";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { noFilterInPayload, type PayloadFilter } from "../inventory/index.ts";
import type { PublicInterface, ServerHooks } from "./hooks.ts";
import { diskOf, packageOf } from "./view.ts";

/** For subnets without DNS servers of their own. */
const defaultDnsServers = ["9.9.9.9", "1.1.1.1"];

/** Renders the agent's payload from the present intent: the newest intent is what gets applied. */
export async function renderServerPayload(
  tx: Tx,
  job: JobRow,
  hooks: readonly ServerHooks[],
): Promise<JobPayload> {
  const server = await loadServer(tx, job);
  const base = {
    server: { id: server.id, organisation_id: server.organisation_id, name: server.name },
    vmid: server.vmid,
  };
  switch (job.kind) {
    case "ServerCreate":
      return createPayload(tx, server, base, hooks);
    case "ServerAdopt":
      return {
        kind: "ServerAdopt",
        ...base,
        tags: tagsOf(server),
        pool: poolOf(server),
      };
    case "ServerStop":
      return { kind: "ServerStop", ...base, ...(await takenOver(tx, server)) };
    case "ServerRestore":
      return { kind: "ServerRestore", ...base, start: server.restores_to === "running" };
    case "ServerDestroy":
      return { kind: "ServerDestroy", ...base, ...(await takenOver(tx, server)) };
    case "PublicIpAttach":
    case "PublicIpDetach":
      return {
        kind: job.kind,
        ...base,
        ...(await allInterfacesOf(tx, server, hooks)),
        ...(await filterIn(tx, server, hooks)),
        guest_network: findImage(server.image)?.guestNetwork ?? "none",
      };
    case "ServerPower":
      return { kind: "ServerPower", ...base, ...(job.parameters as PowerParameters) };
    case "ServerResize": {
      const { package: slug, disk_gb, run } = job.parameters as ResizeParameters;
      return { kind: "ServerResize", ...base, package: { ...packageOf(slug), disk_gb }, run };
    }
    case "ServerRebuild": {
      const { image, ssh_public_keys } = job.parameters as unknown as RebuildParameters;
      const made = await createPayload(tx, { ...server, image, ssh_public_keys }, base, hooks);
      return { ...made, kind: "ServerRebuild", start: true };
    }
    case "ServerPasswordReset":
      return {
        kind: "ServerPasswordReset",
        ...base,
        ...(job.parameters as Pick<PayloadOf<"ServerPasswordReset">, "username" | "when">),
        os_family: osFamilyOf(server.image),
        password_hash: server.password_hash,
        sealed_password: server.sealed_password,
      };
    case "FirewallApply":
      return {
        kind: "FirewallApply",
        ...base,
        ...(await allInterfacesOf(tx, server, hooks)),
        filter: await wholeFilter(tx, server, hooks),
      };
    case "ServerUpdate":
      return { kind: "ServerUpdate", ...base, os_family: osFamilyOf(server.image) };
    case "ServerReconcile":
      return {
        kind: "ServerReconcile",
        ...base,
        pool: poolOf(server),
        tags: tagsOf(server),
        ...(await allInterfacesOf(tx, server, hooks)),
        filter: await wholeFilter(tx, server, hooks),
      };
    default:
      throw new Error(`${job.kind} is no job of a server`);
  }
}

type PowerParameters = Pick<PayloadOf<"ServerPower">, "action" | "timeout_seconds" | "force_after">;
export type ResizeParameters = { readonly package: string; readonly disk_gb: number; readonly run: boolean };

export type RebuildParameters = {
  readonly image: string;
  readonly ssh_key_ids: readonly string[];
  readonly ssh_public_keys: string[];
};

type PayloadBase = { server: { id: string; organisation_id: string; name: string }; vmid: number };
type LoadedServer = Awaited<ReturnType<typeof loadServer>>;

function loadServer(tx: Tx, job: JobRow) {
  return tx
    .selectFrom("server")
    .innerJoin("organisation", "organisation.id", "server.organisation_id")
    .innerJoin("region_vmid", (join) =>
      join
        .onRef("region_vmid.server_id", "=", "server.id")
        .onRef("region_vmid.region", "=", "server.region")
        .on("region_vmid.state", "=", "used"),
    )
    .leftJoin("server_secret", (join) =>
      join
        .onRef("server_secret.server_id", "=", "server.id")
        .onRef("server_secret.organisation_id", "=", "server.organisation_id"),
    )
    .select([
      "server.id",
      "server.organisation_id",
      "server.region",
      "server.name",
      "server.image",
      "server.package",
      "server.disk_gb",
      "server.ssh_public_keys",
      "server.start_when_created",
      "server.node",
      "server.observed_generation",
      "server.restores_to",
      "organisation.slug as organisation_slug",
      "region_vmid.vmid",
      "server_secret.password_hash",
      "server_secret.sealed_password",
    ])
    .where("server.organisation_id", "=", job.organisation_id)
    .where("server.id", "=", job.resource_id)
    .executeTakeFirstOrThrow();
}

/** For a region whose pools begin with "kule"; its agent replaces the prefix. */
const poolOf = ({ organisation_id }: LoadedServer): string => `kule-${organisation_id}`;
const tagsOf = ({ id, organisation_id }: LoadedServer): string[] => ["kule", organisation_id, id];

async function createPayload(
  tx: Tx,
  server: LoadedServer,
  base: PayloadBase,
  hooks: readonly ServerHooks[],
): Promise<PayloadOf<"ServerCreate">> {
  const image = findImage(server.image);
  if (image === undefined) throw new Error(`image ${server.image} is not in the catalogue`);
  const [interfaces, filter] = await Promise.all([
    allInterfacesOf(tx, server, hooks),
    filterIn(tx, server, hooks),
  ]);
  return {
    kind: "ServerCreate",
    ...base,
    pool: poolOf(server),
    tags: tagsOf(server),
    template: image.slug,
    os_family: image.osFamily,
    default_user: image.defaultUser,
    package: { ...packageOf(server.package), disk_gb: diskOf(server) },
    ...interfaces,
    ...filter,
    ssh_public_keys: server.ssh_public_keys,
    password_hash: server.password_hash,
    sealed_password: server.sealed_password,
    start: server.start_when_created,
    node: server.node,
    // No subnet has a gateway yet, and without one no package mirror can be reached.
    egress: false,
  };
}

/** The rules of the firewalls that are attached to the server; nothing when none is. */
async function filterIn(
  tx: Tx,
  server: LoadedServer,
  hooks: readonly ServerHooks[],
): Promise<{ filter?: PayloadFilter }> {
  const filter = await hooks.find((hook) => hook.filter)?.filter?.(tx, server);
  return filter === undefined ? {} : { filter };
}

/** For a job that concerns the filter alone: no rules must be said explicitly. */
async function wholeFilter(
  tx: Tx,
  server: LoadedServer,
  hooks: readonly ServerHooks[],
): Promise<PayloadFilter> {
  const { filter } = await filterIn(tx, server, hooks);
  return filter ?? { id: noFilterInPayload, is_filtered: false, rules: [] };
}

/** With a public IPv4 address the guest's way out is the public interface: two default routes would be one too many. */
async function allInterfacesOf(tx: Tx, server: LoadedServer, hooks: readonly ServerHooks[]) {
  const withPublic = hooks.find((hook) => hook.publicInterface);
  const [outside = null, interfaces] = await Promise.all([
    withPublic?.publicInterface?.(tx, server),
    interfacesOf(tx, server),
  ]);
  return {
    interfaces: leadsOut(outside) ? interfaces.map((each) => ({ ...each, gateway: null })) : interfaces,
    public_interface: outside,
  };
}

/** True when the guest's way out over IPv4 is its public interface: two default routes would be one too many. */
function leadsOut(publicInterface: PublicInterface | null): boolean {
  return publicInterface?.addresses.some(({ version }) => version === 4) === true;
}

async function interfacesOf(tx: Tx, server: LoadedServer) {
  const rows = await tx
    .selectFrom("nic")
    .innerJoin("subnet", (join) =>
      join
        .onRef("subnet.id", "=", "nic.subnet_id")
        .onRef("subnet.organisation_id", "=", "nic.organisation_id"),
    )
    .innerJoin("network", (join) =>
      join
        .onRef("network.id", "=", "subnet.network_id")
        .onRef("network.organisation_id", "=", "subnet.organisation_id"),
    )
    .innerJoin("address", (join) =>
      join
        .onRef("address.nic_id", "=", "nic.id")
        .onRef("address.organisation_id", "=", "nic.organisation_id"),
    )
    .innerJoin("region_vlan", "region_vlan.subnet_id", "subnet.id")
    .select([
      "nic.id",
      sql<string>`nic.mac::text`.as("mac"),
      "region_vlan.vlan",
      sql<string>`host(address.address)`.as("address"),
      // A load balancer's, which both of its servers may have.
      sql<string[]>`array(select host(shared.address) from address shared
        join load_balancer on load_balancer.organisation_id = shared.organisation_id
          and load_balancer.id = shared.load_balancer_id
       where shared.organisation_id = nic.organisation_id and shared.subnet_id = nic.subnet_id
         and load_balancer.id = (select server.managed_by_id from server
           where server.organisation_id = nic.organisation_id and server.id = nic.server_id))`.as("shared"),
      sql<number>`masklen(subnet.cidr)`.as("prefix_length"),
      sql<string>`network.cidr::text`.as("network_cidr"),
      sql<string>`host(subnet.gateway_ip)`.as("gateway"),
      "subnet.dns_servers",
    ])
    .where("nic.organisation_id", "=", server.organisation_id)
    .where("nic.server_id", "=", server.id)
    .orderBy("nic.position")
    .execute();
  return rows.map(({ dns_servers, shared, ...nic }) => ({
    ...nic,
    ...(shared.length === 0 ? {} : { additional_addresses: shared }),
    dns_servers: dns_servers.length > 0 ? dns_servers : defaultDnsServers,
    search_domain: `${server.organisation_slug}.internal`,
  }));
}

/** A server that was to adopt a VM, and whose job has never confirmed it. */
export async function wasNeverTakenOver(
  tx: Tx,
  server: Pick<LoadedServer, "id" | "organisation_id" | "observed_generation">,
): Promise<boolean> {
  if (server.observed_generation > 0) return false;
  const adoption = await tx
    .selectFrom("job")
    .select("id")
    .where("organisation_id", "=", server.organisation_id)
    .where("resource_id", "=", server.id)
    .where("kind", "=", "ServerAdopt")
    .limit(1)
    .executeTakeFirst();
  return adoption !== undefined;
}

async function takenOver(tx: Tx, server: LoadedServer): Promise<{ taken_over?: false }> {
  return (await wasNeverTakenOver(tx, server)) ? { taken_over: false } : {};
}
