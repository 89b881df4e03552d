import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { probeRealGuests } from "@kule/lab/real-guests/probe-real-guests";
import { addresses, RealLoadBalancer } from "@kule/programs/testing/real-load-balancer";
import { sampleTarget } from "@kule/rules/load-balancers/testing/sample-intents";
import { lostOf } from "@kule/testing/packets/http-load";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

const pairs = 5;
const clients = 16;
const targetPort = 9002;
const aim = 0.4;
const what = `requests/s through a load balancer (${clients} clients, each a new connection)`;

/** A page of two bytes, by what needs least time for it. */
const page = `require("node:http").createServer((_, answer) => answer.end("ok")).listen(${targetPort}, () => console.log("ready"))`;

/** Requests through a guest of the image kule-lb, and the same ones to its target, in turn. */
export async function loadBalancerRow(seconds: number): Promise<Row> {
  const reason = await probeRealGuests();
  if (reason !== undefined)
    return { what, ours: reason, floor: "–", ratio: "–", aim: `≥ ${aim}`, reached: null };
  const balancer = await RealLoadBalancer.start();
  const [program = "", ...words] = [...balancer.inMachine(2), process.execPath, "-e", page];
  const target = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(target.stdout, "data");
    const [listener] = balancer.next().listeners;
    if (listener === undefined) throw new Error("no listener");
    await balancer.put(
      1,
      balancer.next({
        listeners: [{ ...listener, targetPort }],
        targets: [{ ...sampleTarget, address: addresses[2] }],
        highAvailability: null,
      }),
    );
    const through: number[] = [];
    const direct: number[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      through.push(await rateOf(balancer, { host: addresses[1], port: listener.port }, seconds));
      direct.push(await rateOf(balancer, { host: addresses[2], port: targetPort }, seconds));
    }
    const ratio = median(through) / median(direct);
    return {
      what,
      ours: `${Math.round(median(through))}/s`,
      floor: `${Math.round(median(direct))}/s to the target itself`,
      ratio: ratio.toFixed(2),
      aim: `≥ ${aim}`,
      reached: ratio >= aim,
    };
  } finally {
    target.kill("SIGKILL");
    await balancer.end();
  }
}

/** @throws Error when a connection is lost: what does not answer is fast */
async function rateOf(
  balancer: RealLoadBalancer,
  to: { readonly host: string; readonly port: number },
  seconds: number,
): Promise<number> {
  const load = balancer.load({ ...to, clients });
  // The first requests may come before the target's first check.
  await load.until(({ answered }) => answered > 100);
  const before = load.counts;
  const began = performance.now();
  await delay(seconds * 1000);
  const after = load.counts;
  const elapsed = (performance.now() - began) / 1000;
  await balancer.endLoads();
  if (lostOf(after) > lostOf(before)) throw new Error(`connections were lost: ${JSON.stringify(after.lost)}`);
  return (after.answered - before.answered) / elapsed;
}
