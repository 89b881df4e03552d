import { probeWires } from "@kule/lab/wires/wires";
import type { Rogue } from "./outer-tricks.ts";
import { PacketScene } from "./packet-scene.ts";
import { answeringPorts, internetPlace } from "./questions.ts";
import { Cabling, publicSegment } from "./segments.ts";
import { buildTown, type Town } from "./town.ts";

export type StandingTown = {
  readonly scene: PacketScene;
  readonly town: Town;
  readonly rogues: readonly Rogue[];
  readonly cabling: Cabling;
};

/** Builds the town, and has every machine of it listened to; the edge knows nothing of it yet. */
export async function withTown<T>(work: (standing: StandingTown) => Promise<T>): Promise<T> {
  const missing = await probeWires();
  if (missing !== undefined) throw new Error(`the packets need a network of their own: ${missing}`);
  return PacketScene.use(async (scene) => {
    const town = await buildTown(scene);
    const rogues = await plugInRogues(scene, town);
    return work({ scene, town, rogues, cabling: await attend(scene, town, rogues) });
  });
}

/** One in a subnet of each kind that matters: served by the gateway, and never to be. */
async function plugInRogues(scene: PacketScene, { subnets, servers }: Town): Promise<Rogue[]> {
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

async function attend({ station }: PacketScene, town: Town, rogues: readonly Rogue[]): Promise<Cabling> {
  const machines = town.servers.map(({ name, vmid }) => ({ name, namespace: `vm${vmid}` }));
  const seen = [
    ...(await station.attend([...machines, { name: internetPlace, namespace: "internet" }], answeringPorts)),
    ...(await station.attend(
      rogues.map(({ place }) => ({ name: place, namespace: place })),
      [],
    )),
  ];
  const ofServers = new Cabling(town, seen, {});
  return new Cabling(town, seen, {
    [internetPlace]: publicSegment,
    ...Object.fromEntries(rogues.map((each) => [each.place, ofServers.segmentOf(each)])),
  });
}
