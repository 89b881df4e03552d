// The agent's payload, from the present intent: apps/api's servers/payload.ts and public-ips/payload.ts. The model has
// decided what is in it; the names of images' users and the MACs are the product's.

import type { PayloadOf, Schemas, ServerPayload } from "@kule/contract/schemas";
import { findImage } from "@kule/rules/catalog/images";
import { macAddress } from "@kule/rules/servers/mac";
import { filterIdOf, firewallName, firewallsOf } from "../reference-model/firewalls.ts";
import { diskOf, type ModelState, packageOf, wasCreated } from "../reference-model/model-state.ts";
import type { ModelJob, ModelServer } from "../reference-model/types.ts";

const ORGANISATION = "org_00000000000000000000000001";
const POOL = `kule-${ORGANISATION}`;
const NET = "100.90.0";
const GATEWAY = 254;
const VLAN = 120;
/** A crypt hash, as every password of the model. */
const PASSWORD_HASH = "$6$rounds=5000$abcdefgh$0123456789abcdef";

export function payloadOf(state: ModelState, job: ModelJob): ServerPayload {
  const { server, order } = job;
  const vmid = state.vmidOf(server);
  if (vmid === null) throw new Error(`${server.id} has no VM number`);
  const { id, name } = server;
  const base = { server: { id, organisation_id: ORGANISATION, name }, vmid };
  switch (job.kind) {
    case "ServerCreate":
      return createPayload(state, server, base, server.image);
    case "ServerAdopt":
      return { kind: "ServerAdopt", ...base, tags: tagsOf(server), pool: POOL };
    case "ServerStop":
    case "ServerDestroy":
      return { kind: job.kind, ...base, ...takenOver(server) };
    case "ServerRestore":
      return { kind: "ServerRestore", ...base, start: server.restoresTo === "running" };
    case "ServerPower": {
      const { action = "start", timeoutSeconds = 60, force = false } = order;
      return { kind: "ServerPower", ...base, action, timeout_seconds: timeoutSeconds, force_after: force };
    }
    case "ServerResize": {
      const { slug, diskGb, run } = order.resize ?? { slug: server.package, diskGb: 0, run: false };
      return { kind: "ServerResize", ...base, package: sizeOf(slug, diskGb), run };
    }
    case "ServerRebuild": {
      const image = order.rebuild?.image ?? server.image;
      const made = createPayload(state, server, base, image);
      return { ...made, kind: "ServerRebuild", start: true };
    }
    case "ServerPasswordReset":
      return {
        kind: "ServerPasswordReset",
        ...base,
        username: findImage(server.image)?.defaultUser ?? "root",
        when: order.when ?? "now",
        os_family: "linux",
        password_hash: server.hasSecret ? PASSWORD_HASH : null,
        sealed_password: null,
      };
    case "ServerUpdate":
      return { kind: "ServerUpdate", ...base, os_family: "linux" };
    case "FirewallApply":
      return {
        kind: "FirewallApply",
        ...base,
        ...interfacesOf(state, server, base.vmid),
        filter: filterOf(state, server),
      };
    case "PublicIpAttach":
    case "PublicIpDetach":
      return {
        kind: job.kind,
        ...base,
        ...interfacesOf(state, server, base.vmid),
        ...filterIn(state, server),
        guest_network: findImage(server.image)?.guestNetwork ?? "none",
      };
  }
}

type Base = Pick<PayloadOf<"ServerCreate">, "server" | "vmid">;

function createPayload(
  state: ModelState,
  server: ModelServer,
  base: Base,
  image: string,
): PayloadOf<"ServerCreate"> {
  return {
    kind: "ServerCreate",
    ...base,
    pool: POOL,
    tags: tagsOf(server),
    template: image,
    os_family: "linux",
    default_user: findImage(image)?.defaultUser ?? "root",
    package: sizeOf(server.package, diskOf(server)),
    ...interfacesOf(state, server, base.vmid),
    ...filterIn(state, server),
    ssh_public_keys: [],
    password_hash: server.hasSecret ? PASSWORD_HASH : null,
    sealed_password: null,
    start: server.starts,
    egress: false,
  };
}

const tagsOf = ({ id }: ModelServer) => ["kule", ORGANISATION, id];

function sizeOf(slug: string, diskGb: number): Schemas["PayloadPackage"] {
  const { vcpu, memoryMb } = packageOf(slug);
  return { slug, vcpu, memory_mb: memoryMb, disk_gb: diskGb };
}

/** With a public IPv4 address the guest's way out is the public interface. */
function interfacesOf(state: ModelState, server: ModelServer, vmid: number) {
  const { host } = server;
  if (host === null) throw new Error(`${server.id} has no address`);
  const outside = publicInterfaceOf(state, server, vmid);
  return {
    interfaces: [
      {
        id: `nic_${server.id.slice(4)}`,
        mac: macOf(server, vmid),
        vlan: VLAN,
        address: `10.20.0.${host}`,
        prefix_length: 24,
        gateway: outside === null ? "10.20.0.254" : null,
        dns_servers: ["9.9.9.9"],
        search_domain: "acme.internal",
      },
    ],
    public_interface: outside,
  };
}

/** Of the private interface. */
export const macOf = (server: ModelServer, vmid: number): string => server.mac ?? macAddress(1, vmid, 0);

export const addressOfIp = (number: number): string => `${NET}.${number}`;

/** The interface that the server's VM should have now; null for none. */
function publicInterfaceOf(
  state: ModelState,
  server: ModelServer,
  vmid: number,
): Schemas["PayloadPublicInterface"] | null {
  const own = state.ips.filter((ip) => ip.wantedBy === server && ip.heldBy === server);
  if (own.length === 0) return null;
  return {
    mac: macAddress(1, vmid, 1),
    vlan: null,
    addresses: own.map(({ address: { address } }) => ({
      version: 4,
      address,
      prefix_length: 24,
      gateway: `${NET}.${GATEWAY}`,
    })),
  };
}

export type Filter = PayloadOf<"FirewallApply">["filter"];

export function filterOf(state: ModelState, server: ModelServer): Filter {
  const attached = firewallsOf(state, server);
  return {
    id: filterIdOf(state, server),
    is_filtered: attached.length > 0,
    rules: attached.map((firewall) => ({
      id: `fwr_${firewallName(firewall)}`,
      direction: "in",
      action: "allow",
      protocol: "tcp",
      ports: [String(firewall.port)],
      side: null,
      addresses: null,
    })),
  };
}

/** As part of a payload that is about more: none goes without saying. */
function filterIn(state: ModelState, server: ModelServer): { filter?: Filter } {
  const filter = filterOf(state, server);
  return filter.is_filtered ? { filter } : {};
}

/** A server that was to adopt a VM, and whose job has never confirmed it. */
function takenOver(server: ModelServer): { taken_over?: false } {
  const isAdopted = server.jobs.some(({ kind }) => kind === "ServerAdopt");
  return isAdopted && !wasCreated(server) ? { taken_over: false } : {};
}
