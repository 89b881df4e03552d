import type { Schemas } from "@kule/contract/schemas";
import { validateBody } from "@kule/contract/validate";
import { describe, expect, it } from "vitest";
import {
  type LoadBalancerLoopOptions,
  type MachineAnswer,
  type MachineToAsk,
  runLoadBalancerLoop,
} from "./load-balancer-loop.ts";
import { memoryLog } from "./testing/memory-log.ts";
import { StoppedClock } from "./testing/stopped-clock.ts";

type Body = Schemas["LoadBalancerReport"];
type Page = Partial<Schemas["LoadBalancerReportAck"]>;

const machineOf = (n: number): MachineToAsk => ({
  load_balancer_id: `lb_${n}`,
  slot: 1,
  server_id: `srv_${n}`,
  vmid: 20_000 + n,
  listener_ids: ["lsn_1"],
  servers: ["tgt_1"],
});
const machines = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => machineOf(from + n));

const status = (
  more: Partial<Schemas["LoadBalancerMachineStatus"]> = {},
): Schemas["LoadBalancerMachineStatus"] => ({
  boot_id: "0b7f8d6a-1c2d-4e3f-8a9b-0c1d2e3f4a5b",
  generation: 3,
  worker_pid: 812,
  worker_started: 1_700_000_000,
  old_workers: 0,
  failed_reloads: 0,
  connections: 0,
  most_connections: 10_000,
  role: null,
  listeners: [],
  former: [],
  checks: [],
  omitted_listeners: 0,
  omitted_targets: 0,
  ...more,
});

/** A region whose control plane answers these pages by their `after`, and nothing to calls without one. */
function started(
  pages: Readonly<Record<string, Page>>,
  ask: (machine: MachineToAsk, signal: AbortSignal) => Promise<MachineAnswer>,
) {
  const clock = new StoppedClock();
  const calls: (Body & { readonly at: number })[] = [];
  const memory = memoryLog();
  const region = { isAway: false };
  const controlPlane: LoadBalancerLoopOptions["controlPlane"] = {
    loadBalancers: async (body) => {
      calls.push({ ...structuredClone(body), at: clock.monotonic() });
      if (region.isAway) return { kind: "away", message: "no answer within 20 s", retryAfterSeconds: null };
      const checked = validateBody("reportLoadBalancers", structuredClone(body) as never);
      if (!checked.ok) throw new Error(`a wrong body: ${JSON.stringify(checked.errors)}`);
      const page = body.after === undefined ? {} : pages[String(body.after)];
      return { kind: "ok", value: { machines: [], next: null, round_seconds: 30, ...page }, date: null };
    },
  };
  const stop = new AbortController();
  const running = runLoadBalancerLoop(
    { controlPlane, runtime: clock, log: memory.log, agentVersion: "0.1.0", agentName: "test", ask },
    stop.signal,
  );
  return { clock, calls, memory, region, stop, running };
}

const silent = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe("The rounds of the load balancers", () => {
  it("ask every machine of every page, and report each with the next call", async () => {
    const asked: string[] = [];
    const pages = {
      null: { machines: machines(0, 20), next: "page-2" },
      "page-2": { machines: machines(20, 3) },
    };
    const { clock, calls } = started(pages, async ({ server_id }) => {
      asked.push(server_id);
      return status();
    });
    await clock.advance(4_000);
    expect(asked).toHaveLength(23);
    expect(calls.map(({ after, reports }) => [after, reports.length])).toEqual([
      [null, 0],
      ["page-2", 20],
      [undefined, 3],
    ]);
    await clock.advance(40_000);
    expect(asked).toHaveLength(46);
  });

  it("ask at most four at once, each for ten seconds, and report the age of what was seen", async () => {
    let atOnce = 0;
    let most = 0;
    const { clock, calls } = started({ null: { machines: machines(0, 9) } }, async (machine, signal) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      try {
        return machine.vmid === 20_000 ? status() : await silent(signal);
      } finally {
        atOnce -= 1;
      }
    });
    await clock.advance(3_000);
    expect(calls).toHaveLength(1);
    await clock.advance(10_000);
    await clock.advance(10_000);
    expect(most).toBe(4);
    const { reports } = calls[1] as Body;
    expect(reports).toHaveLength(9);
    const bySilence = Map.groupBy(reports, ({ status: seen }) => seen === null);
    expect(bySilence.get(true)).toHaveLength(8);
    expect(bySilence.get(true)?.every(({ seen_after_ms }) => seen_after_ms === null)).toBe(true);
    expect(bySilence.get(false)).toMatchObject([
      { server_id: "srv_0", seen_after_ms: 20_000, asked_after_ms: 20_000 },
    ]);
  });

  it("ask nobody while the control plane is away, and begin again when it is back", async () => {
    let asked = 0;
    const { clock, calls, region } = started({ null: { machines: machines(0, 2) } }, async () => {
      asked += 1;
      return "silent";
    });
    region.isAway = true;
    for (let n = 0; n < 10; n += 1) await clock.advance(15_000);
    expect([asked, calls.length > 2, calls.length <= 6]).toEqual([0, true, true]);
    region.isAway = false;
    await clock.advance(20_000);
    expect(asked).toBe(2);
  });

  it("say nothing about a machine when the hypervisor itself does not answer", async () => {
    const { clock, calls } = started({ null: { machines: machines(0, 2) } }, async ({ vmid }) =>
      vmid === 20_000 ? "not asked" : "silent",
    );
    await clock.advance(4_000);
    expect(calls.flatMap(({ reports }) => reports.map(({ server_id }) => server_id))).toEqual(["srv_1"]);
  });

  it("report the largest load balancers in as many calls as they need", async () => {
    const servers = Array.from(
      { length: 256 },
      (_, n) => `tgt_${"t".repeat(26)}.srv_${String(n).padStart(26, "0")}`,
    );
    const checks = Array.from({ length: 32 }, (_, n) => ({
      listener_id: `lsn_${n}`,
      status: "UP",
      check_status: "L7OK",
      check_code: 200,
      last_check: "",
      servers,
    }));
    const { clock, calls } = started({ null: { machines: machines(0, 20) } }, async () => status({ checks }));
    await clock.advance(4_000);
    expect(calls.flatMap(({ reports }) => reports)).toHaveLength(20);
    expect(calls.length).toBeGreaterThan(10);
    for (const call of calls) expect(JSON.stringify(call).length).toBeLessThan(1_048_576);
  });

  it("go on after an error, which is logged, and end with the signal", async () => {
    let asked = 0;
    const { clock, memory, stop, running } = started(
      { null: { machines: machines(0, 1) } },
      async (_, signal) => {
        asked += 1;
        if (asked === 1) throw new Error("a mistake of ours");
        return silent(signal);
      },
    );
    await clock.advance(4_000);
    expect((await memory.line("a round of the load balancers was aborted")).level).toBe("error");
    await clock.advance(34_000);
    expect(asked).toBe(2);
    stop.abort();
    await running;
  });

  it("tell once that machines do not answer, and once that they do again", async () => {
    let answer: MachineAnswer = "silent";
    const { clock, memory } = started({ null: { machines: machines(0, 3) } }, async () => answer);
    for (let n = 0; n < 3; n += 1) await clock.advance(34_000);
    answer = status();
    for (let n = 0; n < 3; n += 1) await clock.advance(34_000);
    const told = memory.lines
      .map(({ msg }) => msg)
      .filter((text) => /machines of load balancers/.test(String(text)));
    expect(told).toEqual([
      "machines of load balancers do not answer",
      "all machines of load balancers answer again",
    ]);
  });
});
