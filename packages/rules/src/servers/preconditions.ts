import type { Refusal } from "../decision.ts";
import type { QuotaRefusal } from "../quotas/quotas.ts";
import {
  addressInUse,
  capacityUnavailable,
  regionInMaintenance,
  regionNotScanned,
  resourceDeleting,
  serverNameTaken,
  subnetExhausted,
  vlanExhausted,
  vmidExhausted,
} from "../refusals.ts";
import type { ActionCode } from "./action-decision.ts";
import { actionRefused } from "./action-refused.ts";
import { decideAction, type ServerAction, type ServerState } from "./lifecycle.ts";
import { changeTheOwner } from "./owner.ts";
import { agentKeyUnknown } from "./password-reset.ts";

export type CreateCode =
  | "region_unavailable"
  | "name_taken"
  | "resource_deleting"
  | "subnet_exhausted"
  | "address_in_use"
  | "vmid_exhausted"
  | "vlan_exhausted"
  | "quota_exceeded"
  | "capacity_unavailable";

/** The facts that decide whether a server can be created. */
export type CreateFacts = {
  readonly region: {
    readonly slug: string;
    readonly maintenance: boolean;
    /** It was not scanned since the database was restored. */
    readonly waitsForScan: boolean;
    readonly hasFreeVmid: boolean;
    /** The agent has reported its public key, so that a secret can be sealed to it. */
    readonly hasAgentKey: boolean;
  };
  /** A generated password has to be sealed to the region's agent (Windows). */
  readonly needsSealedPassword: boolean;
  readonly name: string;
  /** Id of the live server (the removal buffer counts) that has the name. */
  readonly nameTakenBy: string | null;
  /** The subnet it goes to; null when the default network is created with it. */
  readonly subnet: {
    readonly id: string;
    readonly networkId: string;
    readonly deleting: boolean;
    readonly hasFreeAddress: boolean;
    /** The requested address, when it is not free, and whose it is. */
    readonly taken: { readonly address: string; readonly serverId: string | null } | null;
  } | null;
  /** Whether the region has a VLAN left; read only when a network is created. */
  readonly hasFreeVlan: boolean;
  /** The package that no node of the region has room for, as far as is known; null when there is room. */
  readonly lacksRoomFor: string | null;
  /** The quotas that have no room for it. */
  readonly fullQuotas: readonly QuotaRefusal[];
};

/** Every reason against creating the server; an empty list allows it. */
export function decideCreate(facts: CreateFacts): Refusal<CreateCode>[] {
  const { region, subnet } = facts;
  const refusals: Refusal<CreateCode>[] = [];
  if (region.maintenance) refusals.push(regionInMaintenance(region.slug));
  if (region.waitsForScan) refusals.push(regionNotScanned(region.slug));
  if (facts.needsSealedPassword && !region.hasAgentKey) refusals.push(agentKeyUnknown(region.slug));
  if (facts.nameTakenBy !== null) refusals.push(serverNameTaken(facts.name, region.slug, facts.nameTakenBy));
  if (subnet?.deleting === true)
    refusals.push(
      resourceDeleting("subnet_not_deleting", "The subnet is being deleted", {
        resource: subnet.id,
        fix: "Choose another subnet",
      }),
    );
  if (subnet?.taken != null)
    refusals.push(addressInUse(subnet.taken.address, subnet.taken.serverId ?? subnet.id));
  if (subnet?.hasFreeAddress === false) refusals.push(subnetExhausted(subnet));
  if (subnet === null && !facts.hasFreeVlan) refusals.push(vlanExhausted(region.slug));
  if (facts.lacksRoomFor !== null) refusals.push(noCapacityIn(region.slug, facts.lacksRoomFor));
  if (!region.hasFreeVmid) refusals.push(vmidExhausted(region.slug));
  return [...refusals, ...facts.fullQuotas];
}

/** No node of the region has room for a server of the package. */
export function noCapacityIn(region: string, slug: string): Refusal<"capacity_unavailable"> {
  return capacityUnavailable(
    "region_has_capacity",
    `No node of region ${region} has room for package ${slug} now`,
    {
      resource: region,
      fix: "Choose a smaller package or another region; POST /catalog/check answers what fits",
    },
  );
}

function fixOf(
  code: ActionCode,
  action: ServerAction,
  server: ServerState & { readonly id: string },
): string | null {
  switch (code) {
    case "protected":
      return `PATCH /servers/${server.id} {"protection":{"${action === "rebuild" ? "rebuild" : "delete"}":false}}`;
    case "resource_deleting":
      return server.status === "pending_deletion" ? `POST /servers/${server.id}/cancel-deletion` : null;
    case "guest_agent_unavailable":
      if (!server.passwordByAgentOnly)
        return `POST /servers/${server.id}/password-reset {"when":"next_boot"}`;
      return server.status === "stopped"
        ? `POST /servers/${server.id}/power {"action":"start"}`
        : "Wait until the guest has started, or start the QEMU guest agent in it";
    case "managed":
      return server.managedBy === null ? null : changeTheOwner(server.managedBy);
    case "locked":
      return "Ask an operator of the installation to unlock the server";
    case "invalid_state":
      return server.openJob === null || action === "cancel_deletion"
        ? null
        : "Wait until the open job is over";
  }
}

/** Every reason against an action on an existing server; an empty list allows it. */
export function decideServerAction(
  action: ServerAction,
  server: ServerState & { readonly id: string },
): Refusal<ActionCode>[] {
  const decision = decideAction(action, server);
  if (decision.allowed) return [];
  return [
    actionRefused(decision, {
      resource: server.managedBy?.id ?? server.id,
      fix: fixOf(decision.code, action, server),
      state: action === "cancel_deletion" ? "server_in_removal_buffer" : "server_in_right_state",
    }),
  ];
}
