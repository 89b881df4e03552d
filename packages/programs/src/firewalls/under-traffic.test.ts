// A firewall is changed by its program while machines send real packets through it. The lab enforces each
// call as soon as it is made, so packets meet every state in between.

import { setTimeout as pause } from "node:timers/promises";
import { probeWires } from "@kule/lab/wires/wires";
import { vm, WiredLab } from "@kule/testing/packets/wired-lab";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type FilterStage,
  filterCast,
  filterChanges,
  filtersInTurn,
  openFilterStage,
} from "../testing/filter-stage.ts";

const part = await requirePart("wires", probeWires, import.meta.filename);

const [SERVER, FRIEND, STRANGER] = [
  filterCast.server.address,
  filterCast.friend.address,
  filterCast.stranger.address,
];
/** How long a manual change is in force. */
const STATE_MILLISECONDS = 40;

describe.skipIf(part.missing)("A firewall that is changed under traffic", { timeout: 120_000 }, () => {
  let lab: WiredLab;
  let stage: FilterStage;

  beforeAll(async () => {
    lab = await WiredLab.start({
      networks: [{ bridge: "vmbr0", vlan: null, addresses: ["203.0.113.1/24"] }],
      beyond: ["198.18.0.1"],
    });
    stage = await openFilterStage(lab);
  }, 120_000);
  afterAll(async () => {
    stage?.end();
    await lab?.end();
  });

  /** The results of the packets that were sent while `act` ran. */
  async function meanwhile(act: () => Promise<unknown>) {
    const { server, friend, stranger } = stage;
    const talk = await friend.connect(SERVER);
    await server.arrivals();
    let isOver = false;
    const seen = {
      said: [] as unknown[],
      called: [] as unknown[],
      dialled: [] as unknown[],
      leaked: [] as unknown[],
    };
    const again = async (each: () => Promise<unknown>) => {
      while (!isOver) await each();
    };
    const traffic = [
      again(async () => void seen.said.push(await talk.speak(4_000))),
      // Datagrams are not sent again: one that is lost is seen.
      again(async () => void seen.called.push(await friend.send("udp", SERVER, { waitMs: 2_000 }))),
      again(async () => void seen.dialled.push(await friend.send("tcp", SERVER, { waitMs: 4_000 }))),
      again(async () => void seen.leaked.push(await stranger.send("tcp", SERVER, { waitMs: 30 }))),
      again(() => stranger.send("udp", SERVER, { waitMs: 5 })),
    ];
    await act();
    isOver = true;
    await Promise.all(traffic);
    return { ...seen, arrivals: new Set(await server.arrivals()) };
  }

  it("drops no flow that stays allowed and lets nothing in that both forbid, from each state to each", async () => {
    const [first] = filtersInTurn;
    if (first === undefined) throw new Error("no filters");
    await stage.apply(first);
    await lab.settled();
    for (const { from, to } of filterChanges(filtersInTurn.length - 1)) {
      const { said, called, dialled, leaked, arrivals } = await meanwhile(() => stage.apply(to));
      const way = `${from.id} to ${to.id}`;
      expect(new Set(said), way).toEqual(new Set(["passed"]));
      for (const [how, answers] of Object.entries({ called, dialled }))
        expect(
          answers.filter((each) => JSON.stringify(each) !== JSON.stringify({ seenAs: FRIEND })),
          `${way}, ${how}`,
        ).toEqual([]);
      expect(new Set(leaked), way).toEqual(new Set(["silent"]));
      expect([...arrivals], way).toEqual([FRIEND]);
      // Otherwise there was hardly any traffic.
      expect(Math.min(said.length, called.length, dialled.length), way).toBeGreaterThan(3);
    }
  });

  it("would be seen to leak, and to drop, if its calls were in another order", async () => {
    const [first] = filtersInTurn;
    if (first === undefined) throw new Error("no filters");
    await stage.apply(first);
    const leaked = await meanwhile(async () => {
      await lab.change(`PUT ${vm(filterCast.server.vmid)}/firewall/options`, { policy_in: "ACCEPT" });
      await pause(STATE_MILLISECONDS);
    });
    expect([...leaked.arrivals]).toContain(STRANGER);
    await stage.apply(first);
    const dropped = await meanwhile(async () => {
      await lab.change(`PUT ${vm(filterCast.server.vmid)}/firewall/rules/1`, { enable: 0 });
      await pause(2_500);
      await lab.change(`PUT ${vm(filterCast.server.vmid)}/firewall/rules/1`, { enable: 1 });
    });
    expect(dropped.called).toContain("silent");
    // A flow that was let in once is answered to its end.
    expect(new Set(dropped.said)).toEqual(new Set(["passed"]));
  });
});
