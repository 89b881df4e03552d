// The agent's payload, from the present intent: apps/api's servers/payload.ts and public-ips/payload.ts.

import type { PayloadOf, Schemas, ServerPayload } from "@kule/contract/schemas";
import { findImage } from "@kule/rules/catalog/images";
import { filterIn, filterOf } from "./model-firewalls.ts";
import { publicInterfaceOf } from "./model-public-ips.ts";
import { diskOf, type ModelJob, type ModelServer, type ModelState, planOf } from "./model-state.ts";

const VLAN = 120;
/** A crypt hash, as every password of the model. */
const PASSWORD_HASH = "$6$rounds=5000$abcdefgh$0123456789abcdef";

export function payloadOf(state: ModelState, job: ModelJob): ServerPayload {
  const server = state.serverOf(job);
  const vmid = state.vmidOf(server.id);
  if (vmid === null) throw new Error(`${server.id} has no VM number`);
  const { id, organisationId, name } = server;
  const base = { server: { id, organisation_id: organisationId, name }, vmid };
  const { parameters } = job;
  switch (job.kind) {
    case "ServerCreate":
      return createPayload(state, server, base);
    case "ServerAdopt":
      return { kind: "ServerAdopt", ...base, tags: tagsOf(server), pool: poolOf(server) };
    case "ServerStop":
    case "ServerDestroy":
      return { kind: job.kind, ...base, ...takenOver(state, server) };
    case "ServerRestore":
      return { kind: "ServerRestore", ...base, start: server.restoresTo === "running" };
    case "ServerPower": {
      const { action = "start", timeout_seconds = 60, force_after = false } = parameters;
      return { kind: "ServerPower", ...base, action, timeout_seconds, force_after };
    }
    case "ServerResize": {
      const { package: slug = server.package, disk_gb = 0, run = false } = parameters;
      return { kind: "ServerResize", ...base, package: sizeOf(slug, disk_gb), run };
    }
    case "ServerRebuild": {
      const image = parameters.image ?? server.image;
      const made = createPayload(state, { ...server, image }, base);
      return { ...made, kind: "ServerRebuild", start: true };
    }
    case "ServerPasswordReset":
      return {
        kind: "ServerPasswordReset",
        ...base,
        username: findImage(server.image)?.defaultUser ?? "root",
        when: parameters.when ?? "now",
        os_family: "linux",
        password_hash: server.hasSecret ? PASSWORD_HASH : null,
        sealed_password: null,
      };
    case "ServerUpdate":
      return { kind: "ServerUpdate", ...base, os_family: "linux" };
    case "ServerReconcile":
      return {
        kind: "ServerReconcile",
        ...base,
        pool: poolOf(server),
        tags: tagsOf(server),
        ...interfacesOf(state, server, base.vmid),
        filter: filterOf(state, server.id),
      };
    case "FirewallApply":
      return {
        kind: "FirewallApply",
        ...base,
        ...interfacesOf(state, server, base.vmid),
        filter: filterOf(state, server.id),
      };
    case "PublicIpAttach":
    case "PublicIpDetach":
      return {
        kind: job.kind,
        ...base,
        ...interfacesOf(state, server, base.vmid),
        ...filterIn(state, server.id),
        guest_network: findImage(server.image)?.guestNetwork ?? "none",
      };
  }
}

const poolOf = ({ organisationId }: ModelServer): string => `kule-${organisationId}`;

type Base = Pick<PayloadOf<"ServerCreate">, "server" | "vmid">;

function createPayload(state: ModelState, server: ModelServer, base: Base): PayloadOf<"ServerCreate"> {
  return {
    kind: "ServerCreate",
    ...base,
    pool: poolOf(server),
    tags: tagsOf(server),
    template: server.image,
    os_family: "linux",
    default_user: findImage(server.image)?.defaultUser ?? "root",
    package: sizeOf(server.package, diskOf(server)),
    ...interfacesOf(state, server, base.vmid),
    ...filterIn(state, server.id),
    ssh_public_keys: [],
    password_hash: server.hasSecret ? PASSWORD_HASH : null,
    sealed_password: null,
    start: server.startWhenCreated,
    egress: false,
  };
}

const tagsOf = ({ organisationId, id }: ModelServer) => ["kule", organisationId, id];

function sizeOf(slug: ModelServer["package"], diskGb: number): Schemas["PayloadPackage"] {
  const { vcpu, memoryMb } = planOf(slug);
  return { slug, vcpu, memory_mb: memoryMb, disk_gb: diskGb };
}

/** With a public IPv4 address the guest's way out is the public interface. */
function interfacesOf(state: ModelState, server: ModelServer, vmid: number) {
  const host = state.addressOf(server.id);
  if (host === null) throw new Error(`${server.id} has no address`);
  const outside = publicInterfaceOf(state, server, vmid);
  return {
    interfaces: [
      {
        id: `nic_${server.id.slice(4)}`,
        mac: state.macOf(server, vmid),
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

/** A server that was to adopt a VM, and whose job has never confirmed it. */
function takenOver(state: ModelState, server: ModelServer): { taken_over?: false } {
  if (server.observedGeneration > 0) return {};
  const isAdopted = state.jobs.some((job) => job.serverId === server.id && job.kind === "ServerAdopt");
  return isAdopted ? { taken_over: false } : {};
}
