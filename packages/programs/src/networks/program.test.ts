import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import type { EdgeWiring } from "@kule/edge/edge-network";
import { LinuxEdge } from "@kule/edge/linux-edge";
import { type Command, EdgeUnreachable, type Runner } from "@kule/edge/runner";
import { MemoryMachine } from "@kule/edge/testing/memory-machine";
import { virtualRuntime } from "@kule/proxmox/testing/virtual-runtime";
import { describe, expect, it } from "vitest";
import { Failed, RetryLater } from "../errors.ts";
import type { Job, World } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { quietHost, SETTINGS, stepsDone } from "../testing/lab-region.ts";
import { survivesACrashAnywhere } from "../testing/survives-a-crash-anywhere.ts";
import { applyNetwork } from "./program.ts";

type Payload = PayloadOf<"NetworkApply">;

const trunks: readonly EdgeWiring["trunk"][] = [
  { interface: "trunk0", mode: "vlan" },
  { interface: "vmbr1", mode: "bridge" },
];
const subnet = (n: number, tier: Schemas["Tier"] = "app"): Payload["subnets"][number] => ({
  id: `sub_${n}`,
  tier,
  vlan: 100 + n,
  cidr: `10.0.${n}.0/24`,
  gateway_address: `10.0.${n}.1`,
});
const gateway: NonNullable<Payload["gateway"]> = {
  id: "gw_1",
  address: "203.0.113.10",
  prefix_length: 24,
  next_hop: "203.0.113.1",
  vlan: 20,
  subnet_ids: ["sub_1"],
  port_forwards: [{ protocol: "tcp", listen_port: 80, target_address: "10.0.1.9", target_port: 8080 }],
};

function jobOf(generation: number, more: Partial<Payload> = {}): Job<Payload> {
  return {
    id: `job_${generation}`,
    payload: {
      kind: "NetworkApply",
      network: { id: "net_1", organisation_id: "org_1" },
      generation,
      state: "present",
      subnets: [subnet(1), subnet(2, "data")],
      gateway: null,
      ...more,
    },
  };
}

function edgeWorld(
  trunk: EdgeWiring["trunk"] | undefined = trunks[0],
  runnerOf = (machine: MemoryMachine): Runner => machine,
) {
  const wiring = {
    uplink: { interface: "wan0" },
    trunk: trunk ?? { interface: "trunk0", mode: "vlan" as const },
  };
  const machine = new MemoryMachine(wiring);
  const edge = new LinuxEdge(runnerOf(machine), wiring);
  const world = { edge, runtime: virtualRuntime(), settings: SETTINGS } as unknown as World;
  const run = async (job: Job<Payload>, host = quietHost()) => {
    const observed = await runProgram(applyNetwork, job, world, host);
    return { observed, steps: stepsDone(host.events) };
  };
  return { machine, edge, world, run };
}

describe.each(trunks)("a network at an edge with a trunk of mode $mode", (trunk) => {
  it("is created with its subnets, and is found as wanted", async () => {
    const { run, machine, edge } = edgeWorld(trunk);
    const { observed } = await run(jobOf(1));
    expect(observed).toMatchObject({ network_generation: 1 });
    expect(await edge.networks()).toEqual(["net_1"]);
    const commands = machine.journal.length;
    expect(await run(jobOf(1))).toEqual({ observed, steps: [] });
    expect(machine.journal).toHaveLength(commands);
  });

  it("gets a subnet, a gateway and another address for it, and has them removed again", async () => {
    const { run } = edgeWorld(trunk);
    await run(jobOf(1, { subnets: [subnet(1)] }));
    expect((await run(jobOf(2))).steps).toContain("add-link");
    expect((await run(jobOf(3, { gateway }))).steps).toContain("route");
    const moved = await run(jobOf(4, { gateway: { ...gateway, address: "203.0.113.11" } }));
    expect(moved.steps).toEqual(["replace-rules", "bring-up"]);
    expect((await run(jobOf(5))).steps).toEqual(["replace-rules", "remove-link"]);
    expect((await run(jobOf(6, { subnets: [] }))).steps).toEqual([
      "replace-rules",
      "remove-link",
      "remove-link",
    ]);
  });

  it("is deleted with everything in it, and may be deleted twice", async () => {
    const { run, edge } = edgeWorld(trunk);
    await run(jobOf(1, { gateway }));
    const gone = jobOf(2, { state: "gone", subnets: [] });
    expect((await run(gone)).steps).toEqual(["remove"]);
    expect(await edge.networks()).toEqual([]);
    expect((await run(gone)).steps).toEqual([]);
    // Its VLANs belong to another network from now on.
    const other = { network: { id: "net_2", organisation_id: "org_2" } };
    expect((await run(jobOf(1, other))).observed).toMatchObject({ network_generation: 1 });
  });

  it.each([
    ["its coming", { subnets: [] as Payload["subnets"] }, { gateway }],
    ["a gateway's going", { gateway }, { subnets: [subnet(2, "data"), subnet(3)] }],
    ["its going", { gateway }, { state: "gone" as const, subnets: [] }],
  ])("survives a crash between any two commands of %s", async (_, before, after) => {
    const points = await survivesACrashAnywhere(async () => {
      const { run, machine, edge } = edgeWorld(trunk);
      await run(jobOf(1, before));
      return {
        run: (at: (name: string) => void) => run(jobOf(2, after), quietHost({ crashPoint: at })),
        state: async () => {
          const networks = await edge.networks();
          if (networks.length === 0) return { networks };
          const { seen } = await edge.observe({
            networkId: "net_1",
            generation: 2,
            subnets: [],
            gateway: null,
          });
          return { networks, seen: { ...seen, links: seen?.links.map((link) => ({ ...link })) } };
        },
        // Repeating a command is harmless; that no other one is needed is what is compared.
        effects: async () => Object.fromEntries(machine.journal.map(({ words }) => [words.join(" "), 1])),
      };
    });
    const commands = points.filter((point) => point.endsWith(".effect-done"));
    expect(commands.length).toBeGreaterThan(1);
  });
});

describe("a network at an edge", () => {
  it("is never set to an older state", async () => {
    const { run, machine } = edgeWorld();
    await run(jobOf(7));
    const commands = machine.journal.length;
    const error = await run(jobOf(6, { subnets: [] })).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(RetryLater);
    expect((error as RetryLater).facts.code).toBe("network_superseded");
    expect(machine.journal).toHaveLength(commands);
  });

  it("is restored after the edge was restarted", async () => {
    const { run, machine, edge } = edgeWorld();
    await run(jobOf(3, { gateway }));
    machine.reboot();
    expect(await edge.networks()).toEqual([]);
    expect((await run(jobOf(3, { gateway }))).steps).toContain("make-namespace");
  });

  it.each([
    ["a link", "link del dev s101\n", "add-link"],
    ["an address", "addr del 10.0.1.1/24 dev s101\n", "bring-up"],
    ["its way out", "route del default dev up\n", "route"],
  ])("has %s restored after a manual removal", async (_, input, step) => {
    const { run, machine } = edgeWorld();
    await run(jobOf(1, { gateway }));
    expect(machine.execute({ words: ["ip", "-n", "kule-net_1", "-batch", "-"], input }).code).toBe(0);
    expect((await run(jobOf(1, { gateway }))).steps).toContain(step);
  });

  it.each([
    ["took all rules away", { flush: { ruleset: null } }],
    [
      "let everything through",
      { add: { rule: { family: "inet", table: "kule", chain: "through", expr: [{ accept: null }] } } },
    ],
  ])("has its rules restored after a manual change: %s", async (_, change) => {
    const { run, machine } = edgeWorld();
    await run(jobOf(1));
    const words = ["ip", "netns", "exec", "kule-net_1", "sh", "-c", "cat | nft -j -f -"] as const;
    const done = machine.execute({ words: [...words], input: JSON.stringify({ nftables: [change] }) });
    expect(done.code).toBe(0);
    expect((await run(jobOf(1))).steps).toEqual(["replace-rules"]);
    expect((await run(jobOf(1))).steps).toEqual([]);
  });

  it("is refused with internet access for data, and nothing is changed", async () => {
    const { run, machine } = edgeWorld();
    const asked = run(jobOf(1, { gateway: { ...gateway, subnet_ids: ["sub_2"], port_forwards: [] } }));
    const error = await asked.catch((each: unknown) => each);
    expect(error).toBeInstanceOf(Failed);
    expect((error as Failed).facts.code).toBe("bad_network");
    expect(machine.journal).toEqual([]);
  });

  it("waits for a VLAN that another namespace still has", async () => {
    const { run, machine } = edgeWorld();
    await run(jobOf(1));
    const other = jobOf(1, { network: { id: "net_2", organisation_id: "org_2" } });
    const error = await run(other).catch((each: unknown) => each);
    expect((error as RetryLater).facts).toMatchObject({
      code: "edge_refused",
      internal: expect.stringContaining("File exists"),
    });
    await run(jobOf(2, { state: "gone", subnets: [] }));
    expect((await run(other)).observed).toMatchObject({ network_generation: 1 });
    expect(machine.namespaces).toEqual(["kule-net_2"]);
  });

  it("is observed again when an answer of the edge was lost", async () => {
    let lost = 0;
    const losing = (machine: MemoryMachine): Runner => ({
      run: async (command: Command, signal) => {
        const result = await machine.run(command, signal);
        // The effect is done, and its answer is lost.
        if (command.words.includes("add") && lost++ % 2 === 0)
          throw new EdgeUnreachable("lost its connection");
        return result;
      },
    });
    const { run } = edgeWorld(undefined, losing);
    expect((await run(jobOf(1))).observed).toMatchObject({ network_generation: 1 });
    expect(lost).toBeGreaterThan(2);
  });

  it("waits for an edge that does not answer", async () => {
    const silent = (): Runner => ({ run: () => Promise.reject(new EdgeUnreachable("no answer")) });
    const error = await edgeWorld(undefined, silent)
      .run(jobOf(1))
      .catch((each: unknown) => each);
    expect((error as RetryLater).facts.code).toBe("edge_unreachable");
  });

  it("begins no command without its lease, not even the second of a step", async () => {
    const { run, machine } = edgeWorld();
    let left = 1;
    const host = quietHost({
      lease: { remainingFraction: () => left },
      crashPoint: (name) => {
        if (name === "NetworkApply.make-parent.effect-done") left = 0;
      },
    });
    await expect(run(jobOf(1, { gateway }), host)).rejects.toThrow(/lease/);
    expect(machine.journal.at(-1)?.words.join(" ")).toBe(
      "ip link add link wan0 name wan0.20 type vlan id 20",
    );
  });

  it("waits for an agent that has an edge", async () => {
    const { world } = edgeWorld();
    const asked = runProgram(applyNetwork, jobOf(1), { ...world, edge: null }, quietHost());
    await expect(asked).rejects.toThrow(/edge_missing/);
  });
});
