import type { Schemas } from "@kule/contract/schemas";
import { readBundle } from "@kule/lab/appliances/guest-bundle";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Failed, RetryLater } from "../errors.ts";
import { outcomeOfFailure } from "../outcome.ts";
import { type LabRegion, quietHost, startLabRegion } from "../testing/lab-region.ts";
import {
  applyIn,
  createdMachine,
  generationOf,
  type LoadBalancerPayload,
  listenerOf,
  newCertificate,
  newMachine,
  newPair,
  payloadOf,
  targetOf,
  timesChanged,
} from "../testing/load-balancer-region.ts";
import { survivesACrashAnywhere } from "../testing/survives-a-crash-anywhere.ts";

let region: LabRegion;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());
afterEach(() => region.lab.faults.tasks.clear());

type Machine = Schemas["PayloadMachine"];
const silence = ({ vmid }: Machine) => region.lab.faults.tasks.agentless.add(vmid);
const refuse = ({ vmid }: Machine, by: "receive" | "validate" | "activate" | "check" = "validate") =>
  region.lab.faults.tasks.refusingAppliances.set(vmid, { by, text: "[ALERT] line 12: unknown keyword" });
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  );
const generations = (machines: readonly Machine[]) => machines.map(({ vmid }) => generationOf(region, vmid));
const seenMachines = (observed: Schemas["JobOutcome"]["observed"] | undefined) =>
  observed?.load_balancer?.machines.map(({ slot, outcome, generation }) => [slot, outcome, generation]);
/** A file of the state that the machine has. */
const fileOf = ({ vmid }: Machine, path: string) => {
  const appliance = region.lab.control.vm(vmid)?.guest.appliance;
  return readBundle(appliance?.states[appliance.current ?? ""] ?? "").files?.get(`files/${path}`);
};
/** Every machine of a pair has this state already. */
async function pairWith(generation: number): Promise<Machine[]> {
  const machines = newPair(region);
  await applyIn(region, payloadOf(machines, { generation }));
  return machines;
}

describe("A load balancer", { timeout: 120_000 }, () => {
  it("is put into its machine, and is left alone when it is there", async () => {
    const machine = await createdMachine(region);
    const { observed, steps } = await applyIn(region, payloadOf([machine], { generation: 4 }));
    expect(steps).toEqual(["put-state"]);
    expect(observed.load_balancer).toEqual({
      generation: 4,
      machines: [{ slot: 1, outcome: "applied", generation: 4, role: null }],
    });
    expect(fileOf(machine, "haproxy/haproxy.cfg")).toContain("server tgt_1 10.30.0.250:8080");
    expect(await applyIn(region, payloadOf([machine], { generation: 4 }))).toEqual({ observed, steps: [] });
    expect(timesChanged(region, [machine])).toEqual([1]);
  });

  it("changes the machine with the address last", async () => {
    const machines = await pairWith(1);
    const before = region.lab.journal().length;
    const { observed } = await applyIn(region, payloadOf(machines, { generation: 2 }));
    const changed = region.lab
      .journal()
      .slice(before)
      .filter(({ op }) => op === "guest-state-applied");
    expect(changed.map(({ vmid }) => vmid)).toEqual([machines[1]?.vmid, machines[0]?.vmid]);
    expect(observed.load_balancer?.machines.map(({ role }) => role)).toEqual(["active", "standby"]);
    expect(fileOf(machines[1] as Machine, "keepalived/keepalived.conf")).toContain("10.30.0.4/24");
  });

  it("that is larger than one part gets there whole", async () => {
    const machine = newMachine(region);
    const listeners = Array.from({ length: 32 }, (_, n) => listenerOf(`lsn_${n}`, 8_000 + n));
    const targets = Array.from({ length: 256 }, (_, n) =>
      targetOf(`tgt_${(n * 7_919) % 65_536}x${n}`, `10.30.${n}.${(n * 31) % 250}`),
    );
    await applyIn(region, payloadOf([machine], { listeners, targets }));
    expect(fileOf(machine, "haproxy/servers")?.trimEnd().split("\n")).toHaveLength(8_192);
  });

  it("is changed on the machine that answers, when the other one does not", async () => {
    const machines = await pairWith(1);
    for (const [silent, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      silence(machines[silent] as Machine);
      const generation = (generationOf(region, (machines[other] as Machine).vmid) ?? 0) + 1;
      const { observed, steps } = await applyIn(region, payloadOf(machines, { generation }));
      expect(steps).toEqual(["put-state"]);
      expect(seenMachines(observed)?.[silent]).toEqual([silent + 1, "silent", null]);
      expect(seenMachines(observed)?.[other]).toEqual([other + 1, "applied", generation]);
      region.lab.faults.tasks.clear();
    }
  });

  it("is changed on the other machine when one is gone, is somebody else's, or its node is down", async () => {
    for (const lose of [
      ({ vmid }: Machine) => region.lab.control.deleteVm(vmid),
      ({ vmid }: Machine) => region.lab.control.setPower(vmid, false),
      ({ vmid }: Machine) => region.lab.control.editConfig(vmid, { description: "mine now" }),
    ]) {
      const machines = await pairWith(1);
      lose(machines[0] as Machine);
      const { observed } = await applyIn(region, payloadOf(machines, { generation: 2 }));
      expect(seenMachines(observed)).toEqual([
        [1, "silent", null],
        [2, "applied", 2],
      ]);
    }
    const machines = await pairWith(1);
    region.lab.control.migrateVm((machines[1] as Machine).vmid, "pve2");
    region.lab.control.nodeDown("pve2");
    try {
      const { observed } = await applyIn(region, payloadOf(machines, { generation: 2 }));
      expect(seenMachines(observed)).toEqual([
        [1, "applied", 2],
        [2, "silent", null],
      ]);
    } finally {
      region.lab.control.nodeUp("pve2");
    }
  });

  it("is changed on the other machine when one answers and cannot take it", async () => {
    const machines = await pairWith(1);
    refuse(machines[1] as Machine, "receive");
    const { observed } = await applyIn(region, payloadOf(machines, { generation: 2 }));
    expect(seenMachines(observed)).toEqual([
      [1, "applied", 2],
      [2, "silent", 1],
    ]);
    refuse(machines[0] as Machine, "receive");
    const error = await errorOf(applyIn(region, payloadOf(machines, { generation: 3 })));
    expect(error).toMatchObject({ facts: { code: "guest_silent" } });
  });

  it("is tried again later when no machine answers", async () => {
    const machines = await pairWith(1);
    for (const machine of machines) silence(machine);
    for (const silent of [machines, machines.slice(0, 1)]) {
      const error = await errorOf(applyIn(region, payloadOf(silent, { generation: 2 })));
      expect(error).toBeInstanceOf(RetryLater);
      expect(error).toMatchObject({ facts: { code: "guest_silent" } });
    }
  });

  it("waits for a machine that still starts, and for none that has answered before as long", async () => {
    const { runtime } = region.world;
    const waited = async (has_state: boolean, comesAfter: number) => {
      const machine = newMachine(region, 1, { has_state });
      silence(machine);
      const startedAt = runtime.now();
      const comes = () => {
        if (runtime.now() - startedAt >= comesAfter) region.lab.faults.tasks.agentless.clear();
        return 1;
      };
      const idle: boolean[] = [];
      const host = {
        lease: { remainingFraction: comes },
        idles: (isIdle: boolean) => void idle.push(isIdle),
        report: async () => void comes(),
        throwIfCancelled: () => void comes(),
      };
      const error = await errorOf(applyIn(region, payloadOf([machine]), host));
      return { error, seconds: (runtime.now() - startedAt) / 1_000, idle };
    };
    const fresh = await waited(false, 150_000);
    expect([fresh.error, fresh.idle]).toEqual([null, [true, false]]);
    const never = await waited(false, Number.POSITIVE_INFINITY);
    expect(never.error).toMatchObject({ facts: { code: "guest_silent" } });
    expect([Math.floor(never.seconds / 60), never.idle]).toEqual([3, [true, false]]);
    const old = await waited(true, Number.POSITIVE_INFINITY);
    expect(old.error).toMatchObject({ facts: { code: "guest_silent" } });
    expect([old.seconds >= 20, old.seconds < 40, old.idle]).toEqual([true, true, []]);
  });

  it("does not wait with a change for the other machine's first start", async () => {
    const [one, two] = newPair(region) as [Machine, Machine];
    silence(two);
    const { observed, steps } = await applyIn(region, payloadOf([one, { ...two, has_state: false }]));
    expect(steps).toEqual(["put-state", "await-guest"]);
    expect(seenMachines(observed)).toEqual([
      [1, "applied", 1],
      [2, "silent", null],
    ]);
  });

  it.each(["validate", "activate", "check"] as const)(
    "that a machine refuses by its %s is not given to the other one, and the one before stays in force",
    async (by) => {
      const machines = await pairWith(1);
      refuse(machines[1] as Machine, by);
      const host = quietHost();
      const error = await errorOf(applyIn(region, payloadOf(machines, { generation: 2 }), host));
      expect(error).toBeInstanceOf(Failed);
      const { error: shown, observed } = outcomeOfFailure(error) ?? {};
      expect(shown).toMatchObject({
        code: "configuration_refused",
        message: expect.not.stringContaining("ALERT"),
        internal: expect.stringContaining("[ALERT] line 12: unknown keyword"),
      });
      expect(seenMachines(observed)).toEqual([[2, "refused", 1]]);
      expect(generations(machines)).toEqual([1, 1]);
    },
  );

  it("that the second machine refuses is reported with what the first one has", async () => {
    const machines = await pairWith(1);
    refuse(machines[0] as Machine);
    const error = await errorOf(applyIn(region, payloadOf(machines, { generation: 2 })));
    const again = await errorOf(applyIn(region, payloadOf(machines, { generation: 2 })));
    expect(generations(machines)).toEqual([1, 2]);
    expect(seenMachines(outcomeOfFailure(error)?.observed)).toEqual([[1, "refused", 1]]);
    expect(seenMachines(outcomeOfFailure(again)?.observed)).toEqual([
      [1, "refused", 1],
      [2, "applied", 2],
    ]);
  });

  it("is not replaced by an older state, and its job gets the newest one with its next attempt", async () => {
    const machines = await pairWith(5);
    const error = await errorOf(applyIn(region, payloadOf(machines, { generation: 4 })));
    expect(error).toBeInstanceOf(RetryLater);
    expect(error).toMatchObject({ facts: { code: "guest_state_superseded" } });
    expect(generations(machines)).toEqual([5, 5]);
    const sent = machines.map(({ vmid }) => region.lab.control.vm(vmid)?.guest.appliance?.incoming);
    expect(sent).toEqual([null, null]);
  });

  it("is put into force again when its check fails", async () => {
    const machine = newMachine(region);
    await applyIn(region, payloadOf([machine]));
    refuse(machine, "check");
    expect(await errorOf(applyIn(region, payloadOf([machine])))).toMatchObject({
      facts: { code: "configuration_refused" },
    });
    region.lab.faults.tasks.clear();
    expect((await applyIn(region, payloadOf([machine]))).steps).toEqual([]);
  });

  it("is changed while a backup has locked its machine", async () => {
    const machine = newMachine(region);
    region.lab.control.editConfig(machine.vmid, { lock: "backup" });
    expect((await applyIn(region, payloadOf([machine]))).steps).toEqual(["put-state"]);
    expect(generations([machine])).toEqual([1]);
  });

  it("that a payload cannot describe is refused before anything changes", async () => {
    const machine = newMachine(region);
    const wrong: Partial<LoadBalancerPayload>[] = [
      { listeners: [listenerOf("lsn_1", 80), listenerOf("lsn_2", 80)] },
      { targets: [targetOf("tgt_1", "10.0.0.1\n    stats socket x")] },
      { listeners: [listenerOf("lsn_1", 443, { protocol: "https" })] },
    ];
    for (const more of wrong)
      expect(await errorOf(applyIn(region, payloadOf([machine], more)))).toMatchObject({
        facts: { code: "invalid_payload" },
      });
    expect(generations([machine])).toEqual([null]);
  });

  it("ends the same wherever its job dies", async () => {
    const machines = await pairWith(1);
    let generation = 1;
    const points = await survivesACrashAnywhere(async () => {
      generation += 1;
      const payload = payloadOf(machines, { generation });
      const changed = timesChanged(region, machines);
      return {
        run: (at) => applyIn(region, payload, { crashPoint: at as never }),
        state: async () => generations(machines).map((each) => each === payload.generation),
        effects: async () =>
          Object.fromEntries(
            timesChanged(region, machines).map((times, n) => [String(n), times - (changed[n] ?? 0)]),
          ),
      };
    });
    expect(points.filter((point) => point.endsWith(".effect-done")).length).toBeGreaterThanOrEqual(4);
  });
});

describe("A certificate of a load balancer", { timeout: 120_000 }, () => {
  const https = (certificates: LoadBalancerPayload["certificates"]): Partial<LoadBalancerPayload> => ({
    listeners: [
      listenerOf("lsn_1", 443, {
        protocol: "https",
        certificates: [{ id: "cert_1", domain_names: ["www.example.com"] }],
      }),
    ],
    certificates,
  });
  const sealed = (chain: string) => [{ id: "cert_1", chain, sealed: "c2VhbGVk", context: "cert_1:3" }];

  it("is opened in the region, and its key is in no call but as part of the state, in no step and no journal", async () => {
    const { chain, key } = newCertificate();
    const machine = newMachine(region);
    const opened: string[][] = [];
    const openSecret = (...words: string[]) => {
      opened.push(words);
      return key;
    };
    const host = quietHost();
    await applyIn(
      { ...region, world: { ...region.world, openSecret } },
      payloadOf([machine], https(sealed(chain))),
      host,
    );
    expect(opened[0]).toEqual(["c2VhbGVk", "cert_1:3"]);
    expect(fileOf(machine, "haproxy/certificates/cert_1.pem")).toBe(chain + key);
    const line = key.split("\n")[1] as string;
    const told = JSON.stringify([host.events, region.calls, region.lab.journal()]);
    expect([told.includes(line), told.includes("PRIVATE KEY")]).toEqual([false, false]);
  });

  it("whose key is another one is refused by the machine", async () => {
    const machine = newMachine(region);
    const world = { ...region.world, openSecret: () => newCertificate().key };
    const payload = payloadOf([machine], https(sealed(newCertificate().chain)));
    const error = await errorOf(applyIn({ ...region, world }, payload));
    expect(error).toMatchObject({
      facts: { code: "configuration_refused", internal: expect.stringContaining("inconsistencies between") },
    });
  });

  it("that was sealed to another key, or is missing, ends the job before anything changes", async () => {
    const machine = newMachine(region);
    const openSecret = () => {
      throw new Error("it was sealed to another key");
    };
    for (const certificates of [sealed(newCertificate().chain), []]) {
      const broken = { ...region, world: { ...region.world, openSecret } };
      expect(await errorOf(applyIn(broken, payloadOf([machine], https(certificates))))).toMatchObject({
        facts: { code: "certificate_unreadable" },
      });
    }
    expect(generations([machine])).toEqual([null]);
  });
});
