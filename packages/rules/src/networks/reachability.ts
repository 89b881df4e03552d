import { compileFilter, type Side } from "../firewalls/compile.ts";
import type { FilteredServer } from "../firewalls/firewall.ts";
import { decidePacket, type Packet } from "../firewalls/verdict.ts";
import { formatIp, type IpAddress } from "../public-ips/addresses.ts";
import { addressOf, contains, isSame, rangeOf } from "./address-text.ts";
import type { IntentGateway, IntentSubnet, NetworkIntent } from "./intent.ts";
import { IntentIndex } from "./intent-index.ts";
import { isLinkLocal, isPublicAddress } from "./special-blocks.ts";
import { mayHaveEgress } from "./tiers.ts";
import { type Decision, type Question, Stopped, Trace, type Verdict } from "./verdict.ts";

/**
 * The way of a packet and what stops it, from the intent alone: the region's rules are produced from the same
 * intent, and the tests compare both with real packets.
 *
 * @throws RangeError when the question or the intent names what is not in the intent
 */
export function reach(intent: NetworkIntent, question: Question): Verdict {
  const trace = new Trace();
  const { checks } = trace;
  try {
    new Way(new IntentIndex(intent), question, trace).walk();
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    return { isAllowed: false, decision: error.decision, checks };
  }
  const last =
    checks.findLast(({ place, decision }) => place !== "receiver" && decision.by !== "no_firewall") ??
    checks.at(-1);
  if (last === undefined) throw new Error("a packet went nowhere");
  return { isAllowed: true, decision: last.decision, checks };
}

class Way {
  readonly #intent: IntentIndex;
  readonly #question: Question;
  readonly #trace: Trace;

  constructor(intent: IntentIndex, question: Question, trace: Trace) {
    this.#intent = intent;
    this.#question = question;
    this.#trace = trace;
  }

  walk(): void {
    const { from } = this.#question;
    if (from.kind === "server") this.#fromServer(this.#intent.server(from.serverId));
    else this.#fromInternet(addressOf(from.address));
  }

  #fromServer(sender: FilteredServer): void {
    const destination = this.#destinationFor(sender);
    const own = [...sender.interfaces.map(({ address }) => address), ...sender.publicAddresses];
    if (own.some((address) => isSame(addressOf(address), destination))) {
      this.#trace.passes("receiver", { by: "itself", serverId: sender.id });
      return;
    }
    if (isLinkLocal(destination))
      throw this.#trace.stop("receiver_filter", { by: "platform", rule: "link_addresses" });
    const onLink = sender.interfaces
      .map(({ subnetId, address }) => ({ subnet: this.#intent.subnet(subnetId), address }))
      .find(({ subnet }) => contains(rangeOf(subnet.cidr), destination));
    const outside = sender.publicAddresses
      .map(addressOf)
      .find(({ version }) => version === destination.version);
    if (onLink !== undefined)
      this.#withinSubnet(sender, onLink.subnet, addressOf(onLink.address), destination);
    else if (outside !== undefined && !this.#isInOwnNetwork(sender, destination))
      this.#byPublicInterface(sender, outside, destination);
    else this.#byRouter(sender, destination);
  }

  /** A guest reaches its networks by its private interfaces, whatever its way out is. */
  #isInOwnNetwork({ interfaces }: FilteredServer, destination: IpAddress): boolean {
    return interfaces.some(
      ({ subnetId }) =>
        this.#intent.subnetAround(this.#intent.subnet(subnetId).networkId, destination) !== null,
    );
  }

  /** The address that a server uses for another one: the one in their network. */
  #destinationFor(sender: FilteredServer): IpAddress {
    const { to } = this.#question;
    if (to.kind === "address") return addressOf(to.address);
    const target = this.#intent.server(to.serverId);
    const networks = sender.interfaces.map(({ subnetId }) => this.#intent.subnet(subnetId).networkId);
    const shared = target.interfaces.find(({ subnetId }) =>
      networks.includes(this.#intent.subnet(subnetId).networkId),
    );
    if (shared !== undefined) return addressOf(shared.address);
    throw this.#trace.stop("router", {
      by: "isolation",
      networkId: this.#intent.homeOf(target)?.networkId ?? null,
    });
  }

  #withinSubnet(
    sender: FilteredServer,
    subnet: IntentSubnet,
    source: IpAddress,
    destination: IpAddress,
  ): void {
    this.#leaves(sender, "private", source, destination);
    if (isSame(addressOf(subnet.routerAddress), destination)) {
      // It answers those of its subnet, and does nothing else for them.
      if (this.#question.protocol !== "icmp")
        throw this.#trace.stop("router", { by: "platform", rule: "router_echo" });
      this.#trace.passes("router", { by: "platform", rule: "router_echo" });
      return;
    }
    const receiver = this.#serverAt(subnet, destination);
    this.#trace.passes("router", { by: "subnet", subnetId: subnet.id });
    this.#arrives(receiver, "private", source, this.#question.port);
  }

  #byPublicInterface(sender: FilteredServer, source: IpAddress, destination: IpAddress): void {
    this.#leaves(sender, "public", source, destination);
    const home = this.#intent.homeOf(sender);
    // The API lets none be attached there; if there were one, it would be a way out past every gateway.
    if (home !== null && !mayHaveEgress(home.tier))
      throw this.#trace.stop("sender", { by: "tier", subnetId: home.id });
    if (!isPublicAddress(destination)) throw this.#trace.stop("sender", { by: "route", serverId: sender.id });
    this.#trace.passes("sender", { by: "public_address", address: formatIp(source) });
    this.#acrossInternet(source, destination);
  }

  #byRouter(sender: FilteredServer, destination: IpAddress): void {
    const [first] = sender.interfaces;
    if (first === undefined) throw this.#trace.stop("sender", { by: "route", serverId: sender.id });
    if (destination.version === 6) throw this.#trace.stop("sender", { by: "platform", rule: "no_ipv6" });
    const subnet = this.#intent.subnet(first.subnetId);
    const source = addressOf(first.address);
    this.#leaves(sender, "private", source, destination);
    const sibling = this.#intent.subnetAround(subnet.networkId, destination);
    if (sibling === null) this.#byGateway(subnet, destination);
    else this.#toSibling(sibling, source, destination);
  }

  #toSibling(sibling: IntentSubnet, source: IpAddress, destination: IpAddress): void {
    // A router answers for its address in the subnet of the sender, and for no other.
    if (isSame(addressOf(sibling.routerAddress), destination))
      throw this.#trace.stop("router", { by: "platform", rule: "router_echo" });
    const receiver = this.#serverAt(sibling, destination);
    this.#trace.passes("router", { by: "network", networkId: sibling.networkId });
    this.#arrives(receiver, "private", source, this.#question.port);
  }

  #byGateway({ id, networkId, tier }: IntentSubnet, destination: IpAddress): void {
    const gateway = this.#intent.gatewayOf(networkId);
    if (!isPublicAddress(destination)) throw this.#trace.stop("router", { by: "isolation", networkId });
    if (!mayHaveEgress(tier)) throw this.#trace.stop("router", { by: "tier", subnetId: id });
    const decision: Decision = { by: "gateway", gatewayId: gateway?.id ?? null, subnetId: id };
    if (gateway === null || !gateway.subnetIds.includes(id)) throw this.#trace.stop("gateway", decision);
    const address = addressOf(gateway.address);
    // It forwards only packets from outside: its own address leads nowhere from within.
    if (isSame(address, destination)) throw this.#trace.stop("gateway", { ...decision, subnetId: null });
    this.#trace.passes("gateway", decision);
    this.#acrossInternet(address, destination);
  }

  #fromInternet(source: IpAddress): void {
    const { to } = this.#question;
    const isolation: Decision = { by: "isolation", networkId: null };
    if (!isPublicAddress(source)) throw this.#trace.stop("internet", isolation);
    const destination =
      to.kind === "address"
        ? addressOf(to.address)
        : this.#intent
            .server(to.serverId)
            .publicAddresses.map(addressOf)
            .find(({ version }) => version === source.version);
    if (destination === undefined || !isPublicAddress(destination))
      throw this.#trace.stop("internet", isolation);
    this.#acrossInternet(source, destination);
  }

  #acrossInternet(source: IpAddress, destination: IpAddress): void {
    const address = formatIp(destination);
    const receiver = this.#intent.serverWithPublic(destination);
    const gateway = this.#intent.gatewayAt(destination);
    if (receiver !== null) {
      this.#trace.passes("internet", { by: "public_address", address });
      this.#arrives(receiver, "public", source, this.#question.port);
    } else if (gateway !== null) this.#intoGateway(gateway, source);
    // An address outside of the intent: what happens to the packet there is not known.
    else this.#trace.passes("receiver", { by: "nobody", address });
  }

  #intoGateway(gateway: IntentGateway, source: IpAddress): void {
    const { protocol, port } = this.#question;
    if (protocol === "icmp") {
      this.#trace.passes("gateway", { by: "platform", rule: "router_echo" });
      return;
    }
    const forward = gateway.portForwards.find(
      (each) => each.protocol === protocol && each.listenPort === port,
    );
    const target = forward === undefined ? null : addressOf(forward.targetAddress);
    const subnet = target === null ? null : this.#intent.subnetAround(gateway.networkId, target);
    if (forward === undefined || target === null || subnet === null || !gateway.subnetIds.includes(subnet.id))
      throw this.#trace.stop("gateway", { by: "gateway", gatewayId: gateway.id, subnetId: null });
    if (!mayHaveEgress(subnet.tier)) throw this.#trace.stop("gateway", { by: "tier", subnetId: subnet.id });
    this.#trace.passes("gateway", {
      by: "port_forward",
      gatewayId: gateway.id,
      portForwardId: forward.id,
    });
    const receiver = this.#serverAt(subnet, target);
    this.#arrives(receiver, "private", source, forward.targetPort);
    this.#mustAnswerByGateway(receiver);
  }

  /** Its own filter, and the anti-spoofing rules. */
  #leaves(sender: FilteredServer, side: Side, source: IpAddress, destination: IpAddress): void {
    const { protocol, port, source: claimed } = this.#question;
    if (claimed !== undefined && !isSame(addressOf(claimed), source))
      throw this.#trace.stop("sender", { by: "platform", rule: "own_addresses" });
    this.#filter(sender, { direction: "out", side, peer: destination, protocol, port });
  }

  #arrives(receiver: FilteredServer, side: Side, source: IpAddress, port: number | null): void {
    const { protocol } = this.#question;
    this.#filter(receiver, { direction: "in", side, peer: source, protocol, port });
  }

  #filter(server: FilteredServer, packet: Packet): void {
    const place = packet.direction === "in" ? "receiver_filter" : "sender_filter";
    const filter = compileFilter(server, this.#intent.around);
    const { isAllowed, rule } = decidePacket(filter, packet);
    const otherwise: Decision = filter.isFiltered
      ? { by: "firewall_default", direction: packet.direction }
      : { by: "no_firewall" };
    const decision: Decision =
      rule === null ? otherwise : { by: "firewall_rule", firewallId: rule.firewallId, ruleId: rule.ruleId };
    if (!isAllowed) throw this.#trace.stop(place, decision);
    this.#trace.passes(place, decision);
  }

  #serverAt(subnet: IntentSubnet, address: IpAddress): FilteredServer {
    const found = this.#intent.serverAt(subnet, address);
    if (found !== null) return found;
    throw this.#trace.stop("receiver", { by: "nobody", address: formatIp(address) });
  }

  /**
   * With a public IPv4 address a guest sends answers to addresses outside of its network out by that
   * interface, and they are lost.
   */
  #mustAnswerByGateway(receiver: FilteredServer): void {
    if (receiver.publicAddresses.some((address) => addressOf(address).version === 4))
      throw this.#trace.stop("receiver", { by: "route", serverId: receiver.id });
  }
}
