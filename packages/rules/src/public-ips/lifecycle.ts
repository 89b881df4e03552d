import type { Refusal } from "../decision.ts";
import {
  alreadyAttached,
  inUse,
  invalidState,
  locked,
  notAttached,
  regionMismatch,
  resourceDeleting,
  resourceProtected,
  serverManaged,
} from "../refusals.ts";
import type { ServerStatus } from "../servers/lifecycle.ts";
import type { ServerOwner } from "../servers/owner.ts";

export type PublicIpStatus = "free" | "attaching" | "attached" | "detaching";
export type PublicIpCode =
  | "already_attached"
  | "in_use"
  | "invalid_state"
  | "locked"
  | "managed"
  | "not_attached"
  | "protected"
  | "region_mismatch"
  | "resource_deleting";

/**
 * The place of an address: the server that should have it, and the one whose VM may have it in the region.
 */
export type PublicIpPlace = {
  readonly serverId: string | null;
  readonly heldBy: string | null;
  readonly isApplied: boolean;
};

/** A gateway, or a load balancer on two servers: it has the address, and no server has it. */
export type OwnerPlace = {
  readonly id: string;
  readonly isDeleting: boolean;
  /** It is in force in the region. */
  readonly isApplied: boolean;
};

/** The same of the address of such an owner. */
export function ownedIpStatus({ isDeleting, isApplied }: OwnerPlace): PublicIpStatus {
  if (isDeleting) return "detaching";
  return isApplied ? "attached" : "attaching";
}

export function publicIpStatus({ serverId, heldBy, isApplied }: PublicIpPlace): PublicIpStatus {
  if (serverId === null) return heldBy === null ? "free" : "detaching";
  return isApplied ? "attached" : "attaching";
}

/** A server as far as its public addresses go. */
export type Holder = {
  readonly id: string;
  readonly region: string;
  readonly status: ServerStatus;
  /**
   * A job of it waits or runs. One job at a time touches its VM, and its intent stays as it is until then. A round of its
   * firewalls that waits is none: whatever changes its addresses brings the rules along.
   */
  readonly hasOpenJob: boolean;
  /** Why an operator has locked it; null when it is not locked. */
  readonly lockedFor: string | null;
  /** What it belongs to; null for a server of the customer's own. */
  readonly managedBy: ServerOwner | null;
};

export type PublicIpFacts = PublicIpPlace & {
  /** The gateway that has the address: it is reserved and released with it, and cannot be a server's. */
  readonly gateway: OwnerPlace | null;
  /** The same of a load balancer on two servers, of which either may have the address. */
  readonly loadBalancer: OwnerPlace | null;
  readonly id: string;
  readonly region: string;
  readonly version: number;
  readonly vlan: number | null;
  readonly isProtected: boolean;
  /** The server of `serverId` or, while it is being detached, of `heldBy`. */
  readonly holder: Holder | null;
  /** The server of `heldBy` while another one waits for the address: its VM must release it first. */
  readonly keeper: Holder | null;
};

/** The server that an address should move to, and the other addresses that it has or should have. */
export type AttachTarget = Holder & {
  readonly others: readonly { readonly id: string; readonly version: number; readonly vlan: number | null }[];
};

type Decision = Refusal<PublicIpCode>[];

/** In these a VM exists, or never will, and no job is open that could not be waited for. */
const attachable: ReadonlySet<ServerStatus> = new Set(["running", "stopped"]);
const detachable: ReadonlySet<ServerStatus> = new Set(["running", "stopped", "error", "pending_deletion"]);

function busy(server: Holder): Refusal<PublicIpCode> | null {
  if (server.lockedFor !== null)
    return locked("server_not_locked", `The server is locked by an operator: ${server.lockedFor}`, {
      resource: server.id,
      fix: "Ask the operator",
    });
  if (!server.hasOpenJob) return null;
  return invalidState("server_has_no_open_job", "The server has a job under way", {
    resource: server.id,
    fix: "Wait until the server's job has ended",
  });
}

function detachRefusal(server: Holder): Refusal<PublicIpCode> | null {
  if (server.managedBy !== null) return serverManaged(server.managedBy);
  if (server.status === "deleting")
    return resourceDeleting("server_not_deleting", "The server is being destroyed", { resource: server.id });
  if (!detachable.has(server.status))
    return invalidState("server_steady", `The server is ${server.status}`, { resource: server.id });
  return busy(server);
}

/** Why the address cannot be attached to the server; with `force` it is moved there. */
export function decideAttach(ip: PublicIpFacts, target: AttachTarget, force: boolean): Decision {
  if (target.managedBy !== null) return [serverManaged(target.managedBy)];
  const found: Decision = ownerRefusal(ip, "already_attached");
  if (target.region !== ip.region)
    found.push(
      regionMismatch(
        "public_ip_in_region",
        `The address is of region ${ip.region} and the server of ${target.region}`,
        { resource: target.id, fix: `Take an address of region ${target.region}` },
      ),
    );
  if (target.status === "pending_deletion" || target.status === "deleting")
    found.push(
      resourceDeleting("server_not_deleting", "The server is being deleted", {
        resource: target.id,
        fix: target.status === "pending_deletion" ? `POST /servers/${target.id}/cancel-deletion` : null,
      }),
    );
  else if (!attachable.has(target.status))
    found.push(invalidState("server_steady", `The server is ${target.status}`, { resource: target.id }));
  const places = [placeRefusal(ip, target, force), keeperRefusal(ip, target), busy(target)];
  found.push(...places.flatMap((each) => each ?? []));
  found.push(...companyRefusals(ip, target));
  return found;
}

function ownerRefusal(
  { gateway, loadBalancer }: PublicIpFacts,
  code: "already_attached" | "in_use",
): Decision {
  const refuse = code === "in_use" ? inUse : alreadyAttached;
  const found: Decision = [];
  if (gateway !== null)
    found.push(
      refuse("public_ip_of_no_gateway", "The address is a gateway's", {
        resource: gateway.id,
        fix: `DELETE /gateways/${gateway.id}`,
      }),
    );
  if (loadBalancer !== null)
    found.push(
      refuse("public_ip_of_no_load_balancer", "The address is a load balancer's", {
        resource: loadBalancer.id,
        fix: loadBalancer.isDeleting ? null : `DELETE /load-balancers/${loadBalancer.id}`,
      }),
    );
  return found;
}

/** The address is somewhere already. */
function placeRefusal(ip: PublicIpFacts, target: AttachTarget, force: boolean): Refusal<PublicIpCode> | null {
  const { holder } = ip;
  if (ip.serverId === target.id)
    return ip.isApplied
      ? alreadyAttached("public_ip_free", "The server has this address already", { resource: target.id })
      : null;
  if (holder === null || holder.id === target.id) return null;
  if (!force)
    return alreadyAttached("public_ip_free", "The address is attached to another server", {
      resource: holder.id,
      fix: `POST /public-ips/${ip.id}/attach {"server_id":"${target.id}","force":true} to move it`,
    });
  return detachRefusal(holder);
}

/**
 * It was moving from one server to another, and that one is deleted before the first has released it. Only
 * one job of the first can be queued: a new request for the address is refused until it is released.
 */
function keeperRefusal({ keeper }: PublicIpFacts, target?: AttachTarget): Refusal<PublicIpCode> | null {
  return keeper === null || keeper.id === target?.id ? null : detachRefusal(keeper);
}

/** The server's other public addresses: both versions are on one interface, in one VLAN. */
function companyRefusals(ip: PublicIpFacts, target: AttachTarget): Decision {
  return target.others
    .filter(({ id }) => id !== ip.id)
    .flatMap((other) => {
      if (other.version === ip.version)
        return alreadyAttached(
          "server_without_public_ip",
          `The server has a public IPv${ip.version} address already`,
          { resource: other.id, fix: `POST /public-ips/${other.id}/detach` },
        );
      if (other.vlan !== ip.vlan)
        return invalidState(
          "public_ips_share_a_vlan",
          "The server's other public address is in another VLAN, and both share its public interface",
          { resource: other.id, fix: "Take an address of another pool" },
        );
      return [];
    });
}

/** Why it cannot become the address of a new owner: it must be unused, and not being removed from a server. */
export function decideGiveToOwner(ip: PublicIpFacts): Decision {
  const found = ownerRefusal(ip, "already_attached");
  if (ip.holder !== null)
    found.push(
      alreadyAttached("public_ip_free", "The address is attached to a server", {
        resource: ip.holder.id,
        fix: `POST /public-ips/${ip.id}/detach`,
      }),
    );
  return found;
}

/** Why the address cannot be detached from its server. */
export function decideDetach(ip: PublicIpFacts): Decision {
  if (ip.gateway !== null || ip.loadBalancer !== null) return ownerRefusal(ip, "in_use");
  if (ip.holder === null)
    return [notAttached("public_ip_attached", "The address is attached to no server", { resource: ip.id })];
  return [detachRefusal(ip.holder), keeperRefusal(ip)].flatMap((each) => each ?? []);
}

/** Why the address cannot be released. */
export function decideRelease(ip: PublicIpFacts): Decision {
  const found: Decision = [];
  if (ip.isProtected)
    found.push(
      resourceProtected("public_ip_not_protected", "The address is protected from being released", {
        resource: ip.id,
        fix: `PATCH /public-ips/${ip.id} {"protection":{"delete":false}}`,
      }),
    );
  found.push(...ownerRefusal(ip, "in_use"));
  if (ip.holder !== null)
    found.push(
      inUse("public_ip_free", "The address is attached to a server", {
        resource: ip.holder.id,
        fix: `POST /public-ips/${ip.id}/detach`,
      }),
    );
  return found;
}

export type PublicIpAction = "attach" | "detach" | "delete";
export type PublicIpActionState = {
  readonly allowed: boolean;
  readonly code: PublicIpCode | null;
  readonly reason: string | null;
};

/** A public IP's `actions`. Attaching includes moving; its target is not known here. */
export function publicIpActions(ip: PublicIpFacts): {
  readonly [action in PublicIpAction]: PublicIpActionState;
} {
  const state = ([first]: Decision): PublicIpActionState =>
    first === undefined
      ? { allowed: true, code: null, reason: null }
      : { allowed: false, code: first.code, reason: first.message };
  const leaving = ip.holder === null ? null : (detachRefusal(ip.holder) ?? keeperRefusal(ip));
  return {
    attach: state([...ownerRefusal(ip, "already_attached"), ...(leaving === null ? [] : [leaving])]),
    detach: state(decideDetach(ip)),
    delete: state(decideRelease(ip)),
  };
}
