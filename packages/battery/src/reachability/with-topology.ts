import { probeWires } from "@kule/lab/wires/wires";
import type { Rogue } from "./outer-tricks.ts";
import { PacketScene } from "./packet-scene.ts";
import { answeringPorts, internetPlace } from "./questions.ts";
import { Cabling, publicSegment } from "./segments.ts";
import { buildTopology, type Topology } from "./topology.ts";

export type RunningTopology = {
  readonly scene: PacketScene;
  readonly topology: Topology;
  readonly rogues: readonly Rogue[];
  readonly cabling: Cabling;
};

/** Builds the topology, and captures packets at every machine of it; the edge has no state yet. */
export async function withTopology<T>(work: (standing: RunningTopology) => Promise<T>): Promise<T> {
  const missing = await probeWires();
  if (missing !== undefined) throw new Error(`the packets need a network of their own: ${missing}`);
  return PacketScene.use(async (scene) => {
    const topology = await buildTopology(scene);
    const rogues = await plugInRogues(scene, topology);
    return work({ scene, topology, rogues, cabling: await attend(scene, topology, rogues) });
  });
}

/** One in a subnet of each kind that matters: served by the gateway, and never to be. */
async function plugInRogues(scene: PacketScene, { subnets, servers }: Topology): Promise<Rogue[]> {
  const rogues: Rogue[] = [];
  for (const name of ["acme-one-app-1", "acme-one-data-1"]) {
    const subnet = subnets.find(({ id }) => id === servers.find((each) => each.name === name)?.subnetId);
    if (subnet === undefined) throw new Error(`there is no ${name}`);
    const place = `rogue-${subnet.tier}`;
    await scene.plugIn(place, subnet.vlan);
    rogues.push({ place, subnetId: subnet.id });
  }
  return rogues;
}

async function attend(
  { station }: PacketScene,
  topology: Topology,
  rogues: readonly Rogue[],
): Promise<Cabling> {
  const machines = topology.servers.map(({ name, vmid }) => ({ name, namespace: `vm${vmid}` }));
  const seen = [
    ...(await station.attend([...machines, { name: internetPlace, namespace: "internet" }], answeringPorts)),
    ...(await station.attend(
      rogues.map(({ place }) => ({ name: place, namespace: place })),
      [],
    )),
  ];
  const ofServers = new Cabling(topology, seen, {});
  return new Cabling(topology, seen, {
    [internetPlace]: publicSegment,
    ...Object.fromEntries(rogues.map((each) => [each.place, ofServers.segmentOf(each)])),
  });
}
