import type { Flows } from "@kule/testing/packets/flows";
import type { PacketMachine } from "@kule/testing/packets/packet-machine";
import { expect, it } from "vitest";
import { changeUnder, newTally, type Traffic } from "./traffic.ts";

/** Flows and machines that answer as they are configured. */
function trafficOf(live: {
  readonly flows: number;
  readonly spoken: number;
  readonly sendMs: number;
}): Traffic {
  const flows = {
    count: live.flows,
    speak: async () => {},
    beSilent: async () => ({ spoken: live.spoken, lost: {} }),
  } as unknown as Flows;
  const by = {
    send: () => new Promise((resolve) => setTimeout(resolve, live.sendMs, { seenAs: "10.20.0.6" })),
  } as unknown as PacketMachine;
  const opener = { name: "a new datagram", by, protocol: "udp", to: "10.20.0.5" } as const;
  return { flows: [flows], everyMs: 20, allowed: [opener], denied: [], forbidden: [] };
}

async function complaintsOf(traffic: Traffic): Promise<readonly string[]> {
  const tally = newTally();
  await changeUnder(traffic, "a change", async () => {}, tally);
  return tally.violations;
}

it("reports nothing for a change that no flow was affected by", async () => {
  expect(await complaintsOf(trafficOf({ flows: 5, spoken: 5, sendMs: 1 }))).toEqual([]);
});

it("does not pass on flows without packets, or that were never opened", async () => {
  for (const flows of [5, 0])
    expect(await complaintsOf(trafficOf({ flows, spoken: 0, sendMs: 1 }))).toEqual([
      `a change: ${flows} established flows spoke only 0 times: nothing was put to the test`,
    ]);
});

it("does not pass on a change without a packet that was tried", async () => {
  expect(await complaintsOf(trafficOf({ flows: 5, spoken: 9, sendMs: 200 }))).toEqual([
    "a change: a new datagram was tried only 1 times: nothing was put to the test",
  ]);
});
