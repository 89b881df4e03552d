import { type Cidr, containsAddress, overlaps, parseAddress, parseCidr } from "@kule/rules/networks/cidr";
import { mayHaveEgress } from "@kule/rules/networks/tiers";
import type { EdgeNetwork, EdgeWiring } from "./edge-network.ts";

/** A state that must not be rendered, whoever requested it. The edge stays as it is. */
export class BadEdgeState extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "BadEdgeState";
  }
}

/**
 * The last check of a state before it becomes rules: that the control plane promises all of this is no reason
 * to trust it with another network's isolation.
 *
 * @throws BadEdgeState
 */
export function checkNetwork({ subnets, gateway, generation }: EdgeNetwork): void {
  const refuse = (problem: string) => new BadEdgeState(problem);
  if (!Number.isSafeInteger(generation) || generation < 1) throw refuse(`${generation} is no generation`);
  const blocks: { readonly id: string; readonly cidr: Cidr }[] = [];
  const vlans = new Set<number>();
  for (const { subnetId, cidr: text, gatewayAddress, vlan } of subnets) {
    const cidr = parseCidr(text);
    if (typeof cidr === "string") throw refuse(`${subnetId} has ${text} for a block`);
    const router = parseAddress(gatewayAddress);
    if (router === null || !containsAddress(cidr, router))
      throw refuse(`${subnetId} has its router ${gatewayAddress} outside of ${text}`);
    if (!Number.isInteger(vlan) || vlan < 1 || vlan > 4094) throw refuse(`${subnetId} has VLAN ${vlan}`);
    if (vlans.has(vlan)) throw refuse(`VLAN ${vlan} is of two subnets`);
    vlans.add(vlan);
    for (const other of blocks)
      if (overlaps(other.cidr, cidr)) throw refuse(`the blocks of ${other.id} and ${subnetId} overlap`);
    blocks.push({ id: subnetId, cidr });
  }
  if (gateway === null) return;
  const { address, prefixLength, nextHop, vlan } = gateway;
  if (parseAddress(address) === null) throw refuse(`${gateway.gatewayId} has ${address} for an address`);
  if (!Number.isInteger(prefixLength) || prefixLength < 1 || prefixLength > 32)
    throw refuse(`${gateway.gatewayId} has a prefix of ${prefixLength}`);
  if (parseAddress(nextHop) === null) throw refuse(`${gateway.gatewayId} has ${nextHop} for its next hop`);
  if (vlan !== null && (!Number.isInteger(vlan) || vlan < 1 || vlan > 4094))
    throw refuse(`${gateway.gatewayId} has VLAN ${vlan}`);
  for (const id of gateway.subnetIds) {
    const subnet = subnets.find(({ subnetId }) => subnetId === id);
    if (subnet === undefined) throw refuse(`${gateway.gatewayId} serves ${id}, which is not in the network`);
    if (!mayHaveEgress(subnet.tier))
      throw refuse(`${id} is of tier ${subnet.tier} and never reaches the internet`);
  }
  const listening = new Set<string>();
  for (const { protocol, listenPort, targetAddress, targetPort } of gateway.portForwards) {
    const listen = `${protocol} ${listenPort}`;
    if (listening.has(listen)) throw refuse(`${listen} is forwarded twice`);
    listening.add(listen);
    for (const port of [listenPort, targetPort])
      if (!Number.isInteger(port) || port < 1 || port > 65535) throw refuse(`${port} is no port`);
    const target = parseAddress(targetAddress);
    const home = blocks.find(({ cidr }) => target !== null && containsAddress(cidr, target));
    if (home === undefined || !gateway.subnetIds.includes(home.id))
      throw refuse(
        `${listen} goes to ${targetAddress}, which is in no subnet that ${gateway.gatewayId} serves`,
      );
  }
}

/** The kernel's names have 15 characters, and `v4094` is appended to the trunk's. */
const longestTrunkName = 10;

/** @throws BadEdgeState */
export function checkWiring({ trunk }: EdgeWiring): void {
  if (trunk.mode === "bridge" && trunk.interface.length > longestTrunkName)
    throw new BadEdgeState(
      `edge.trunk.interface ${trunk.interface} is longer than ${longestTrunkName} characters: the bridges of its VLANs could not be named after it`,
    );
}
