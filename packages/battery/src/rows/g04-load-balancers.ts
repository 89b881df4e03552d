import { probeImage } from "@kule/guest-images/image-cache";
import { probeRealGuests } from "@kule/lab/real-guests/probe-real-guests";
import { otherSlot, RealLoadBalancer, slots, type Visitor } from "@kule/programs/testing/real-load-balancer";
import { lostOf } from "@kule/testing/packets/http-load";
import type { Row, RowRun } from "../row.ts";

/** Connections and states that follow each other, each at least so many, and how often each machine is cut off. */
const SIZES = {
  sample: { connections: 1_500, states: 3, cuts: 1 },
  full: { connections: 20_000, states: 20, cuts: 3 },
} as const;
/** From the loss of a machine until the other one answers. */
const LONGEST_GAP_MS = 5_000;
const keepalived = "packages/rules/src/load-balancers/render/keepalived-configuration.ts";
const grammar = "packages/rules/src/load-balancers/render/line-forms.ts";

export const row: Row = {
  id: "G4",
  title:
    "A load balancer loses no connection when it is changed, serves within 5 s of the loss of a machine, and lets the connections of a drained target end",
  minutes: 5,
  // Its guests are bounded in CPU, and beside other rows some answer too late to what is put into them.
  alone: "with its mutants",
  needs: {
    part: "real guests",
    probe: async () => (await probeRealGuests()) ?? (await probeImage("kule-lb")),
  },
  notInSamples: "real-load-balancer.test.ts of the programs boots the same two machines there.",
  mutants: [
    {
      name: "restarted",
      removes: "the reload, which hands the connections over",
      patches: [
        {
          file: "packages/programs/src/guest-state/bundle.ts",
          find: 'change === "reload" ? "reload-or-restart" : "restart"',
          replace: '"restart"',
        },
      ],
      expects: /connections were lost/,
    },
    {
      name: "late-adverts",
      removes: "the adverts of every second",
      patches: [
        { file: keepalived, find: '"    advert_int 1"', replace: '"    advert_int 9"' },
        { file: grammar, find: '"    advert_int 1"', replace: '"    advert_int 9"' },
      ],
      expects: /no answer for/,
    },
    {
      name: "address-taken-back",
      removes: "the rule that a machine leaves the address where it is",
      patches: [{ file: keepalived, find: '    "    nopreempt",\n', replace: "" }],
      expects: /has moved back/,
    },
    {
      name: "drained-target-gets-more",
      removes: "the weight of a drained target",
      patches: [
        {
          file: "packages/rules/src/load-balancers/render/server-lines.ts",
          find: "const isDrained = target.drain || target.weight === 0;",
          replace: "const isDrained = target.weight === 0;",
        },
      ],
      expects: /gets new connections/,
    },
    {
      name: "old-workers-end",
      removes: "the time that connections have after a reload",
      patches: [
        {
          file: "packages/rules/src/load-balancers/render/haproxy-configuration.ts",
          find: "hard-stop-after 10m",
          replace: "hard-stop-after 1s",
        },
        { file: grammar, find: "hard-stop-after 10m", replace: "hard-stop-after 1s" },
      ],
      expects: /open connection has ended/,
    },
  ],
  async run(run) {
    const balancer = await RealLoadBalancer.start();
    const visitor = await balancer.visitor();
    try {
      await balancer.change();
      await balancer.master();
      await balancer.until("both targets are up", async () =>
        (await balancer.status(await balancer.master())).targets.every(({ status }) => status === "UP"),
      );
      const reloads = await changesUnderLoad(balancer, run);
      const drains = await drainedTargets(balancer, visitor, run);
      const cuts = await cutMachines(balancer, run);
      return {
        cases: reloads.connections + drains.cases + cuts.gapsMs.length,
        violations: [...reloads.violations, ...drains.violations, ...cuts.violations],
        recoverySeconds: cuts.gapsMs.map((gapMs) => gapMs / 1_000),
        figures: {
          "connections while states followed each other": reloads.connections,
          "states meanwhile": reloads.states,
          "machines cut off": cuts.gapsMs.length,
          "longest time without an answer in ms": Math.max(...cuts.gapsMs),
        },
      };
    } finally {
      await visitor.end();
      await balancer.end();
    }
  },
};

const algorithms = ["least_connections", "source_hash", "round_robin"] as const;

async function changesUnderLoad(balancer: RealLoadBalancer, { scale, progress }: RowRun) {
  const clients = balancer.load({ clients: 8, pauseMs: 10 });
  let states = 0;
  const least = SIZES[scale];
  while (clients.counts.answered < least.connections || states < least.states) {
    await balancer.change({ algorithm: algorithms[states % algorithms.length] ?? "round_robin" });
    states += 1;
    progress(`${states} states, ${clients.counts.answered} connections, ${lostOf(clients.counts)} lost`);
  }
  const counts = await clients.end();
  const lost = lostOf(counts);
  return {
    states,
    connections: counts.answered + lost,
    violations:
      lost === 0
        ? []
        : [
            `${lost} of ${counts.answered + lost} connections were lost during ${states} changes: ${JSON.stringify(counts.lost)}`,
          ],
  };
}

async function drainedTargets(balancer: RealLoadBalancer, visitor: Visitor, { progress }: RowRun) {
  const violations: string[] = [];
  await balancer.change({ algorithm: "round_robin" });
  // To each of the two targets at least one.
  const connections = await Promise.all(Array.from({ length: 4 }, () => visitor.open()));
  for (const slot of slots) {
    const { targets } = balancer.next();
    await balancer.change({
      targets: targets.map((target, index) => ({ ...target, drain: slots[index] === slot })),
    });
    const clients = balancer.load({ clients: 4 });
    const { bodies } = await clients.until(({ answered }) => answered >= 100);
    await clients.end();
    if ((bodies[slot] ?? 0) > 0) violations.push(`the drained target ${slot} gets new connections`);
    for (const connection of connections)
      if ((await connection.speak(5_000)) !== "passed")
        violations.push(`an open connection has ended while target ${slot} was drained`);
    progress(`target ${slot} was drained`);
  }
  return { cases: slots.length * (1 + connections.length), violations };
}

async function cutMachines(balancer: RealLoadBalancer, { scale, progress }: RowRun) {
  const violations: string[] = [];
  const gapsMs: number[] = [];
  await balancer.change();
  for (let cut = 0; cut < 2 * SIZES[scale].cuts; cut += 1) {
    const slot = await balancer.master();
    const clients = balancer.load({ clients: 4, timeoutMs: 500, pauseMs: 20 });
    await clients.until(({ answered }) => answered > 100);
    await balancer.cut(slot);
    const { answered } = clients.counts;
    // Of the half of the targets that is gone too, the clients hear until its check has failed.
    const { longestGapMs } = await clients.until((counts) => counts.answered > answered + 300);
    await clients.end();
    gapsMs.push(longestGapMs);
    if (longestGapMs > LONGEST_GAP_MS)
      violations.push(`no answer for ${longestGapMs} ms after machine ${slot} was cut off`);
    await balancer.switchOn(slot);
    await balancer.until("the machine serves again", () => balancer.has(slot));
    if ((await balancer.master()) !== otherSlot(slot))
      violations.push(`the address has moved back to machine ${slot}`);
    progress(`machine ${slot} was cut off: ${longestGapMs} ms`);
  }
  return { violations, gapsMs };
}
