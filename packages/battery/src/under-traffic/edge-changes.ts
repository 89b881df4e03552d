import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { EdgeGateway, EdgeNetwork } from "@kule/edge/edge-network";
import { LinuxEdge } from "@kule/edge/linux-edge";
import { SshRunner } from "@kule/edge/ssh-runner";
import { Flows } from "@kule/testing/packets/flows";
import { answeringPort, type PacketMachine } from "@kule/testing/packets/packet-machine";
import type { WiredLab } from "@kule/testing/packets/wired-lab";
import type { RowRun } from "../row.ts";
import { type Numbers, publicBridge, someone } from "./numbers.ts";
import { changeUnder, type Tally, type Traffic } from "./traffic.ts";

const gatewayAddress = "203.0.113.50";
const [app, mgmt, data] = ["10.30.1.5", "10.30.2.5", "10.30.3.5"];
const vmids = { app: 32_001, mgmt: 32_002, data: 32_003 } as const;

const subnets = [
  { subnetId: "sub_app", tier: "app", vlan: 401, cidr: "10.30.1.0/24", gatewayAddress: "10.30.1.1" },
  { subnetId: "sub_mgmt", tier: "mgmt", vlan: 402, cidr: "10.30.2.0/24", gatewayAddress: "10.30.2.1" },
  { subnetId: "sub_data", tier: "data", vlan: 403, cidr: "10.30.3.0/24", gatewayAddress: "10.30.3.1" },
] as const;

type Forward = EdgeGateway["portForwards"][number];
const forward = (protocol: "tcp" | "udp", listenPort: number, targetAddress: string): Forward => ({
  ...{ protocol, listenPort, targetAddress, targetPort: answeringPort },
});
const web = forward("tcp", 8080, app);
const names = forward("udp", 8053, app);

type State = { readonly name: string } & Pick<EdgeGateway, "subnetIds" | "portForwards">;

/**
 * In all of them the subnets reach each other, the first one reaches the internet, and two ports are
 * forwarded.
 */
const states: readonly State[] = [
  { name: "one subnet served", subnetIds: ["sub_app"], portForwards: [web, names] },
  {
    name: "two served and more ports",
    subnetIds: ["sub_app", "sub_mgmt"],
    portForwards: [forward("tcp", 8081, mgmt), web, forward("udp", 8054, mgmt), names],
  },
  {
    name: "one served and another port",
    subnetIds: ["sub_app"],
    portForwards: [names, forward("tcp", 8082, app), web],
  },
];

/** From the first state on: from each to each, and back to where it began. */
const round = [1, 2, 0, 2, 1, 0];

/** A network's rules are replaced on the edge, while flows go between its subnets and out and in by its gateway. */
export async function changeEdge(lab: WiredLab, run: RowRun, numbers: Numbers, tally: Tally) {
  const machine = lab.lab.edge;
  if (machine === undefined) throw new Error("this lab has no edge");
  const { host, port, user, hostKey, keyFile } = machine;
  const runner = new SshRunner({ host, port, user, hostKey, key: readFileSync(keyFile, "utf8") });
  const edge = new LinuxEdge(runner, {
    uplink: { interface: publicBridge },
    trunk: { interface: "vmbr1", mode: "bridge" },
  });
  const all: Flows[] = [];
  let generation = 0;
  const apply = (state: State) => {
    generation += 1;
    return converge(edge, networkIn(state, generation));
  };
  try {
    const [first] = states;
    if (first === undefined) throw new Error("there is no state");
    const settled = await settle(lab, () => apply(first));
    const [ofApp, ofData, ofInternet] = [
      new Flows(lab.wires.inMachine(vmids.app)),
      new Flows(lab.wires.inMachine(vmids.data)),
      new Flows(lab.wires.inInternet()),
    ];
    all.push(ofApp, ofData, ofInternet);
    const { internet, ...openers } = settled;
    const traffic: Traffic = { ...openers, flows: all, everyMs: numbers.everyMs };
    const [tcp, udp] = [Math.ceil(numbers.tcp / 4), Math.ceil(numbers.udp / 4)];
    const open = async (flows: Flows, name: string, to: string, ports: readonly [number, number]) => {
      await flows.open({ name: `connection ${name}`, protocol: "tcp", to, port: ports[0], count: tcp });
      await flows.open({ name: `datagrams ${name}`, protocol: "udp", to, port: ports[1], count: udp });
    };
    const same = [answeringPort, answeringPort] as const;
    await open(ofApp, "between subnets", mgmt, same);
    await open(ofData, "from an unserved subnet to a served one", app, same);
    await open(ofApp, "out by the gateway", someone, same);
    await open(ofInternet, "in by a forwarded port", gatewayAddress, [web.listenPort, names.listenPort]);
    let from = first;
    for (let turn = 0; turn < numbers.edgeChanges; turn += 1) {
      const wanted = states[round[turn % round.length] ?? 0] ?? first;
      const what = `the edge from ${from.name} to ${wanted.name}`;
      await changeUnder(traffic, what, () => apply(wanted), tally);
      const [open, meant] = [await forwardedPorts(internet), portsOf(wanted)];
      if (!isDeepStrictEqual(open, meant))
        tally.violations.push(`${what}: nothing was changed, or not all: ${open.join(", ")} lead inside`);
      run.progress(`${tally.changes} changes, ${tally.spoken} answers`);
      from = wanted;
    }
    return all.reduce((sum, { count }) => sum + count, 0);
  } finally {
    await Promise.all(all.map((each) => each.end()));
    runner.end();
  }
}

/** All machines exist, with the edge between them; the flows that they try all the time. */
async function settle(
  lab: WiredLab,
  applyFirst: () => Promise<void>,
): Promise<Omit<Traffic, "flows" | "everyMs"> & { readonly internet: PacketMachine }> {
  const running = (vmid: number, tag: number, address: string, router: string) =>
    lab.running(vmid, [
      { net: `virtio,bridge=vmbr1,tag=${tag},firewall=1`, ip: `ip=${address}/24,gw=${router}` },
    ]);
  const [inApp, inMgmt, inData] = [
    await running(vmids.app, 401, app, "10.30.1.1"),
    await running(vmids.mgmt, 402, mgmt, "10.30.2.1"),
    await running(vmids.data, 403, data, "10.30.3.1"),
  ];
  const internet = await lab.internet();
  // An attacker outside who knows the inner addresses, and the next hop to them.
  const [program = "", ...words] = lab.wires.inInternet();
  execFileSync(program, [...words, "ip", "route", "add", "10.30.0.0/16", "via", gatewayAddress]);
  await applyFirst();
  return {
    internet,
    allowed: [
      { name: "a new datagram between subnets", by: inApp, protocol: "udp", to: mgmt },
      { name: "a new datagram out by the gateway", by: inApp, protocol: "udp", to: someone },
      { name: "a new connection out by the gateway", by: inApp, protocol: "tcp", to: someone },
      {
        ...{ name: "a new datagram to a forwarded port", by: internet, protocol: "udp" },
        ...{ to: gatewayAddress, port: names.listenPort },
      } as const,
    ],
    denied: [
      { name: "a datagram out of the unserved subnet", by: inData, protocol: "udp", to: someone },
      { name: "a connection out of the unserved subnet", by: inData, protocol: "tcp", to: someone },
      { name: "a datagram from outside past the gateway", by: internet, protocol: "udp", to: data },
      { name: "a connection from outside past the gateway", by: internet, protocol: "tcp", to: mgmt },
    ],
    forbidden: [
      { name: "a datagram from outside to the unserved subnet", at: inData, from: () => true },
      { name: "a datagram from outside past the gateway", at: inMgmt, from: (source) => source !== app },
      { name: "an inside source", at: internet, from: (source) => source !== gatewayAddress },
    ],
  };
}

function networkIn({ name: _, ...state }: State, generation: number): EdgeNetwork {
  const at = { address: gatewayAddress, prefixLength: 24, nextHop: "203.0.113.1", vlan: null };
  return { networkId: "net_traffic", generation, subnets, gateway: { gatewayId: "gw_1", ...at, ...state } };
}

async function converge(edge: LinuxEdge, want: EdgeNetwork): Promise<void> {
  for (let look = 0; look < 4; look += 1) {
    const sight = await edge.observe(want);
    const plan = edge.plan(sight);
    if (plan.length === 0) return;
    for (const step of plan) await edge.apply(step, sight);
  }
  throw new Error("the edge never was as wanted");
}

const portsOf = ({ portForwards }: State): readonly string[] =>
  portForwards.map(({ protocol, listenPort }) => `${protocol} ${listenPort}`).toSorted();

/** Which ports of the gateway lead to a machine that answers, of all that some state forwards. */
async function forwardedPorts(internet: PacketMachine): Promise<readonly string[]> {
  const forwards = new Map(
    states.flatMap((state) => state.portForwards).map((each) => [each.listenPort, each]),
  );
  const answers = await Promise.all(
    [...forwards.values()].map(async ({ protocol, listenPort: port }) => {
      const outcome = await internet.send(protocol, gatewayAddress, { port, waitMs: 1_500 });
      return typeof outcome === "object" ? [`${protocol} ${port}`] : [];
    }),
  );
  return answers.flat().toSorted();
}
