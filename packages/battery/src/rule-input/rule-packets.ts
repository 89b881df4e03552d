import type { Shot } from "@kule/testing/packets/volley";
import { outside, type PacketScene } from "../reachability/packet-scene.ts";
import type { RuleWorld, Written } from "./rule-world.ts";

/** Ports that differ from the requested ones by so many: none of them was requested. */
const beside = 400;

/**
 * The neighbour reaches the ports that the rules allow and none of the others, and so does the internet with
 * the forwarded ports.
 */
export async function packetViolations(
  { station }: PacketScene,
  { target, neighbour, gateway }: RuleWorld,
  written: readonly Written[],
  [from, to]: readonly [neighbour: string, target: string],
): Promise<{ readonly packets: number; readonly violations: readonly string[] }> {
  await station.attend(
    [
      { name: from, namespace: `vm${neighbour.vmid}` },
      { name: to, namespace: `vm${target.vmid}` },
    ],
    written.map(({ port }) => port),
  );
  const questions = written.flatMap(({ port, listenPort }) => [
    { place: from, to: target.address, port, isAllowed: true },
    { place: from, to: target.address, port: port + beside, isAllowed: false },
    { place: "internet", to: gateway.address, port: listenPort, isAllowed: true },
    { place: "internet", to: gateway.address, port: listenPort + beside, isAllowed: false },
  ]);
  const violations: string[] = [];
  let open = questions;
  let packets = 0;
  for (let tries = 1; open.length > 0; tries += 1) {
    const flows = station.flows(open.length);
    packets += open.length;
    const { arrived, answered } = await station.shoot(
      open.map(({ isAllowed, place, ...each }, index): Shot => {
        const how = { flow: flows[index] ?? 0, place, by: "tcp" as const, ...each };
        const until = isAllowed ? ("answered" as const) : ("nothing" as const);
        return place === "internet" ? { ...how, until, from: outside.beyond[4] } : { ...how, until };
      }),
    );
    const missing = open.filter((each, index) => {
      const flow = flows[index] ?? 0;
      const isThere = arrived.some((seen) => seen.flow === flow && seen.place === to);
      if (!each.isAllowed && isThere)
        violations.push(`${each.place} reaches ${each.to} at port ${each.port}`);
      return each.isAllowed && !answered.includes(flow);
    });
    if (tries === 3)
      violations.push(
        ...missing.map((each) => `${each.place} does not reach ${each.to} at port ${each.port}`),
      );
    open = tries === 3 ? [] : missing;
  }
  return { packets, violations };
}
