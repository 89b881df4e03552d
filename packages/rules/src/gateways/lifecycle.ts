import type { Refusal } from "../decision.ts";
import { addressOf, contains, rangeOf } from "../networks/address-text.ts";
import { mayHaveEgress, type Tier } from "../networks/tiers.ts";
import {
  alreadyAttached,
  inUse,
  notAttached,
  portInUse,
  regionInMaintenance,
  regionUnavailable,
  resourceDeleting,
  subnetNoEgress,
  tierForbidsEgress,
} from "../refusals.ts";

export type GatewayCode =
  | "already_attached"
  | "in_use"
  | "not_attached"
  | "port_in_use"
  | "region_unavailable"
  | "resource_deleting"
  | "subnet_no_egress"
  | "tier_forbids_egress";

/** A subnet of the gateway's network. */
export type ServableSubnet = {
  readonly id: string;
  readonly tier: Tier;
  readonly cidr: string;
  readonly isDeleting: boolean;
};

export type ForwardFacts = {
  readonly id: string;
  readonly protocol: "tcp" | "udp";
  readonly listenPort: number;
  readonly targetAddress: string;
};

/** A gateway, with the subnets of its network. */
export type GatewayFacts = {
  readonly id: string;
  readonly isDeleting: boolean;
  /** A job for its network is open at the edge. Without one, what is being deleted is stuck. */
  readonly hasOpenJob: boolean;
  readonly servedIds: readonly string[];
  /** Those that the edge has not removed yet. */
  readonly leavingIds: readonly string[];
  readonly forwards: readonly ForwardFacts[];
  readonly subnets: readonly ServableSubnet[];
};

type Refusals = Refusal<GatewayCode>[];

/** Why the network cannot get a gateway that serves these subnets. */
export function decideCreateGateway(facts: {
  readonly region: { readonly slug: string; readonly maintenance: boolean; readonly hasEdge: boolean };
  readonly network: {
    readonly id: string;
    readonly isDeleting: boolean;
    readonly gateway: { readonly id: string; readonly isDeleting: boolean } | null;
  };
  readonly subnets: readonly ServableSubnet[];
}): Refusals {
  const { region, network, subnets } = facts;
  const found: Refusals = [];
  if (region.maintenance) found.push(regionInMaintenance(region.slug));
  if (!region.hasEdge)
    found.push(
      regionUnavailable(
        "region_has_edge",
        `Region ${region.slug} has no edge, so its private networks have no way out`,
        { resource: region.slug, fix: "The operator adds the section edge to the region's file" },
      ),
    );
  if (network.isDeleting)
    found.push(
      resourceDeleting("network_not_deleting", "The network is being deleted", { resource: network.id }),
    );
  const { gateway } = network;
  if (gateway !== null)
    found.push(
      gateway.isDeleting
        ? resourceDeleting(
            "network_without_gateway",
            "The network's gateway is being deleted, and the region's edge has not removed it yet",
            { resource: gateway.id, fix: "Wait until it is deleted" },
          )
        : alreadyAttached("network_without_gateway", "The network has a gateway already", {
            resource: gateway.id,
            fix: `POST /gateways/${gateway.id}/subnets to let it serve more subnets`,
          }),
    );
  return [...found, ...subnets.flatMap(unservable)];
}

/**
 * Internet access for a subnet: never for one of tier `data`, whoever requests it, and with whatever request.
 */
function unservable(subnet: ServableSubnet): Refusals {
  if (!mayHaveEgress(subnet.tier))
    return [
      tierForbidsEgress(
        "subnet_may_have_egress",
        `A ${subnet.tier} subnet never reaches the internet, so no gateway serves it`,
        { resource: subnet.id, fix: "Put what needs the internet into a subnet of tier app or mgmt" },
      ),
    ];
  if (!subnet.isDeleting) return [];
  return [resourceDeleting("subnet_not_deleting", "The subnet is being deleted", { resource: subnet.id })];
}

const deleting = ({ id, isDeleting }: GatewayFacts): Refusals =>
  isDeleting
    ? [resourceDeleting("gateway_not_deleting", "The gateway is being deleted", { resource: id })]
    : [];

/** Why it cannot be renamed. */
export const decideUpdateGateway = deleting;

/**
 * Why it cannot be deleted: a server that is reached by a port of it would become unreachable. One whose job
 * has failed may be deleted again.
 */
export function decideDeleteGateway(gateway: GatewayFacts): Refusals {
  const [forward] = gateway.forwards;
  return [
    ...(gateway.hasOpenJob ? deleting(gateway) : []),
    ...(forward === undefined
      ? []
      : [
          inUse(
            "gateway_forwards_nothing",
            `The gateway forwards ${forward.protocol} ${forward.listenPort}`,
            { resource: forward.id, fix: `DELETE /gateways/${gateway.id}/port-forwards/${forward.id}` },
          ),
        ]),
  ];
}

/** Why it cannot serve one more subnet of its network. */
export function decideServeSubnet(gateway: GatewayFacts, subnet: ServableSubnet): Refusals {
  return [
    ...deleting(gateway),
    ...unservable(subnet),
    ...(gateway.servedIds.includes(subnet.id)
      ? [
          alreadyAttached("subnet_not_served", "The gateway serves the subnet already", {
            resource: subnet.id,
          }),
        ]
      : []),
  ];
}

/**
 * Why a subnet cannot be detached: forwards into it would lead nowhere. One that the edge has not removed
 * because the job has failed may be detached again.
 */
export function decideLeaveSubnet(gateway: GatewayFacts, subnet: ServableSubnet): Refusals {
  const isStuck = !gateway.hasOpenJob && gateway.leavingIds.includes(subnet.id);
  if (!isStuck && !gateway.servedIds.includes(subnet.id))
    return [
      ...deleting(gateway),
      notAttached("subnet_served", "The gateway does not serve the subnet", { resource: subnet.id }),
    ];
  const [into] = gateway.forwards.filter(({ targetAddress }) => isIn(subnet, targetAddress));
  return [
    ...deleting(gateway),
    ...(into === undefined
      ? []
      : [
          inUse(
            "subnet_without_port_forwards",
            `${into.protocol} ${into.listenPort} is forwarded into the subnet`,
            { resource: into.id, fix: `DELETE /gateways/${gateway.id}/port-forwards/${into.id}` },
          ),
        ]),
  ];
}

/**
 * Why a port forward cannot be removed; it may be removed again when the job that was to do it has failed.
 */
export function decideDropForward(
  gateway: GatewayFacts,
  forward: { readonly id: string; readonly isLeaving: boolean },
): Refusals {
  return [
    ...deleting(gateway),
    ...(forward.isLeaving && gateway.hasOpenJob
      ? [
          resourceDeleting("port_forward_not_deleting", "The port forward is being deleted", {
            resource: forward.id,
          }),
        ]
      : []),
  ];
}

/** The wanted forward, and the owner of its target address. */
export type WantedForward = Omit<ForwardFacts, "id" | "targetAddress"> & {
  /** Null: the server has none in the gateway's network. */
  readonly targetAddress: string | null;
  readonly server: { readonly id: string; readonly isLeaving: boolean };
};

/** Why a port of the gateway's address cannot be forwarded to an address of its network. */
export function decideForward(gateway: GatewayFacts, wanted: WantedForward): Refusals {
  const { protocol, listenPort, targetAddress, server } = wanted;
  const found = deleting(gateway);
  if (server.isLeaving)
    found.push(
      resourceDeleting("server_not_deleting", "The server is being deleted", { resource: server.id }),
    );
  const other = gateway.forwards.find((each) => each.protocol === protocol && each.listenPort === listenPort);
  if (other !== undefined)
    found.push(
      portInUse("port_free", `${protocol} ${listenPort} is forwarded already`, {
        resource: other.id,
        fix: `DELETE /gateways/${gateway.id}/port-forwards/${other.id}`,
      }),
    );
  const home =
    targetAddress === null ? undefined : gateway.subnets.find((subnet) => isIn(subnet, targetAddress));
  if (home !== undefined && !mayHaveEgress(home.tier)) return [...found, ...unservable(home)];
  if (home === undefined || !gateway.servedIds.includes(home.id))
    found.push(
      subnetNoEgress(
        "subnet_has_egress",
        targetAddress === null
          ? "The server is in no subnet of the gateway's network"
          : `${targetAddress} is in no subnet that the gateway serves: its answers would not come back`,
        {
          resource: home?.id ?? server.id,
          fix: home === undefined ? null : `POST /gateways/${gateway.id}/subnets {"subnet_id":"${home.id}"}`,
        },
      ),
    );
  return found;
}

const isIn = ({ cidr }: ServableSubnet, address: string) => contains(rangeOf(cidr), addressOf(address));
