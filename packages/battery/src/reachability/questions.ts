import type { NetworkIntent } from "@kule/rules/networks/intent";
import { reach } from "@kule/rules/networks/reachability";
import type { Endpoint, Question, Verdict } from "@kule/rules/networks/verdict";
import { outside } from "./packet-scene.ts";
import type { Topology, TopologyServer } from "./topology.ts";

/** The machine beyond the next hops. */
export const internetPlace = "internet";

/** The ports at which every machine answers, by TCP and by UDP. */
export const answeringPorts = [22, 53, 80] as const;

/** The traffic of honest programs, one packet each. */
export type PacketQuestion = {
  /** In words, for reports. */
  readonly name: string;
  /** The sender's place. */
  readonly place: string;
  /** Null: the internet. */
  readonly sender: TopologyServer | null;
  readonly by: "tcp" | "udp" | "icmp";
  readonly to: string;
  readonly port: number | null;
  /** So long that it goes in fragments. */
  readonly bytes?: number;
  readonly from?: string;
};

export type Expectation = {
  readonly verdict: Verdict;
  /** Where alone it may be seen; null: nowhere. */
  readonly place: string | null;
  readonly mustArrive: boolean;
  readonly isAnswered: boolean;
};

const kinds = [
  { by: "tcp", port: 22 },
  { by: "tcp", port: 80 },
  { by: "udp", port: 53 },
  { by: "icmp", port: null },
  // Longer than a frame.
  { by: "udp", port: 80, bytes: 3000 },
  { by: "icmp", port: null, bytes: 4000 },
] as const;

/** Of gateways, forwarded at some time: a deleted forward must be closed. */
const oncePorts = [8022, 8053, 8080, 8081] as const;

/** Unused, inside and outside of every network's blocks. */
const nobodys = ["10.0.1.99", "10.0.9.2", "10.77.0.2", "192.168.7.7"];

/** Every server to every address that is or was used, and the internet to every public one. */
export function questionsOf({ servers, subnets, intent }: Topology): PacketQuestion[] {
  const gateways = intent.gateways.map(({ address }) => address);
  const everything = new Set([
    ...servers.flatMap(({ address, publicAddresses }) => [address, ...publicAddresses]),
    ...subnets.map(({ routerAddress }) => routerAddress),
    ...gateways,
    outside.beyond[4],
    outside.beyond[6],
    ...nobodys,
  ]);
  const ask = (place: string, sender: TopologyServer | null, to: string, how: object, from?: string) => {
    const { by, port, bytes } = how as (typeof kinds)[number] & { readonly bytes?: number };
    const long = bytes === undefined ? "" : " in fragments";
    const name = `${place} to ${to} by ${by}${port === null ? "" : ` ${port}`}${long}`;
    return {
      ...{ name, place, sender, by, to, port },
      ...(bytes === undefined ? {} : { bytes }),
      ...(from === undefined ? {} : { from }),
    };
  };
  const fromServers = servers.flatMap((sender) =>
    [...everything]
      .filter((to) => to !== sender.address && !sender.publicAddresses.includes(to))
      .flatMap((to) => kinds.map((how) => ask(sender.name, sender, to, how))),
  );
  const forwarded = intent.gateways.flatMap(({ address, portForwards }) => {
    const ports = portForwards.map(({ listenPort }) => listenPort);
    return [...new Set([...oncePorts, ...ports])].flatMap((port) =>
      (["tcp", "udp"] as const).map((by) => ({ to: address, by, port, isNow: ports.includes(port) })),
    );
  });
  const fromInternet = [...servers.flatMap(({ publicAddresses }) => publicAddresses), ...gateways].flatMap(
    (to) => kinds.map((how) => ask(internetPlace, null, to, how, outside.beyond[to.includes(":") ? 6 : 4])),
  );
  return [
    ...fromServers,
    ...fromInternet,
    ...forwarded.map(({ to, by, port }) => ask(internetPlace, null, to, { by, port }, outside.beyond[4])),
    ...servers.flatMap((sender) =>
      forwarded
        .filter(({ isNow }) => isNow)
        .map(({ to, by, port }) => ask(sender.name, sender, to, { by, port })),
    ),
  ];
}

export function ruleQuestion({ sender, by, to, port, from }: PacketQuestion): Question {
  const here: Endpoint =
    sender === null ? { kind: "address", address: from ?? "" } : { kind: "server", serverId: sender.id };
  return { from: here, to: { kind: "address", address: to }, protocol: by, port };
}

/** The packet's expected fate, by the intent. */
export function expectationOf(topology: Topology, question: PacketQuestion): Expectation {
  const verdict = reach(topology.intent, ruleQuestion(question));
  const receiver = receiverOf(topology, question);
  if (verdict.isAllowed) return { verdict, place: receiver, mustArrive: receiver !== null, isAnswered: true };
  const last = verdict.checks.at(-1);
  // By the guest's own routes it goes another way than its question, or its answer does.
  if (last?.decision.by === "route") {
    const place = last.place === "receiver" ? receiver : internetPlace;
    return { verdict, place, mustArrive: false, isAnswered: false };
  }
  return { verdict, place: null, mustArrive: false, isAnswered: false };
}

/** The owner of the address from the sender's point of view; null when no machine of the scene has it. */
function receiverOf(topology: Topology, { sender, to, by, port }: PacketQuestion): string | null {
  const inside = topology.servers.find((each) => each.networkId === sender?.networkId && each.address === to);
  if (inside !== undefined) return inside.name;
  const holder = topology.servers.find(({ publicAddresses }) => publicAddresses.includes(to));
  if (holder !== undefined) return holder.name;
  const gateway = topology.intent.gateways.find(({ address }) => address === to);
  if (gateway !== undefined) return forwardedTo(topology, gateway, by, port);
  return to === outside.beyond[4] || to === outside.beyond[6] ? internetPlace : null;
}

function forwardedTo(
  { servers }: Topology,
  { networkId, portForwards }: NetworkIntent["gateways"][number],
  by: PacketQuestion["by"],
  port: number | null,
): string | null {
  const forward = portForwards.find(({ protocol, listenPort }) => protocol === by && listenPort === port);
  const target = servers.find(
    (each) => each.networkId === networkId && each.address === forward?.targetAddress,
  );
  return target?.name ?? null;
}
