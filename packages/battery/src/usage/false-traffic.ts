import { listenerStatus, wellStatus } from "@kule/api/testing/load-balancer-world";
import type { ServerWorld } from "@kule/api/testing/server-world";
import { mostPerSecond, mostSpareMs } from "@kule/rules/load-balancers/plausible-traffic";

/** Half a terabyte: as much as a machine can carry in 40 s. */
const step = 500_000_000_000;

/**
 * A region that says of a load balancer's machine that it has carried more than any can: in one reading, and in many readings at
 * the same time of which each alone could be.
 *
 * @returns what went wrong
 */
export async function falseTraffic(world: ServerWorld): Promise<string[]> {
  const { owned, agent, region } = world;
  const began = performance.now();
  const { network } = (await owned.post("/networks", { name: "balanced", region, cidr: "10.77.0.0/16" }))
    .body;
  const { subnet } = (await owned.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" })).body;
  const created = await owned.post("/load-balancers", {
    name: "counted",
    subnet_id: subnet.id,
    listeners: [{ protocol: "tcp", port: 80 }],
  });
  if (created.status !== 202) throw new Error(`no load balancer: ${JSON.stringify(created.body)}`);
  await agent.work();
  const path = `/load-balancers/${created.body.load_balancer.id}`;
  const [machine] = (await owned.get(path)).body.machines;
  const [listener] = (await owned.get(`${path}/listeners`)).body.items;
  const reading = (age: number, bytes_out: number) => ({
    load_balancer_id: created.body.load_balancer.id,
    slot: 1,
    server_id: machine.server_id,
    asked_after_ms: age,
    seen_after_ms: age,
    status: {
      ...wellStatus,
      listeners: [
        listenerStatus(listener.id, { bytes_out, connections_total: 0, requests_total: 0, errors_total: 0 }),
      ],
    },
  });
  const report = async (...reports: readonly object[]) => {
    const { status } = await agent.api.post("/agent/load-balancers", { agent_version: "0.1.0", reports });
    if (status !== 200) throw new Error(`the report is answered ${status}`);
  };

  await report(reading(0, 1));
  await report(reading(0, Number.MAX_SAFE_INTEGER));
  // One that has less again: counting goes on with it.
  await report(reading(0, 1));
  await report(...Array.from({ length: 20 }, (_, index) => reading(19 - index, (index + 1) * step)));
  const { hours } = (await owned.get(`${path}/metrics`)).body;
  const counted = hours.reduce((sum: number, each: { bytes_out: number }) => sum + each.bytes_out, 0);
  const possible = (mostPerSecond.bytesOut * (performance.now() - began + mostSpareMs)) / 1_000;
  return counted <= possible ? [] : [`${counted} bytes are counted that no machine can have carried`];
}
