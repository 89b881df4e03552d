import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld, listenerStatus, wellStatus } from "../../testing/load-balancer-world.ts";
import { meterTraffic } from "./meter-traffic.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

/** A load balancer whose machine can be reported with a counter. */
async function counting() {
  const lb = await world.active({
    labels: { team: "shop" },
    listeners: [{ protocol: "http", port: 80 }],
    targets: [{ address: "10.20.0.200" }],
  });
  const [listener] = (await must(world.owned.get(`/load-balancers/${lb.id}/listeners`))).items;
  const machine = { load_balancer_id: lb.id, slot: 1 as const, server_id: lb.machines[0]?.server_id ?? "" };
  return {
    lb,
    /** The machine says that it has carried so many requests in all. */
    carry: (requests_total: number, more: object = {}) =>
      world.report({
        ...machine,
        seen_after_ms: 0,
        status: { ...wellStatus, listeners: [listenerStatus(listener.id, { requests_total, ...more })] },
      }),
    /** As if all that was counted had been carried so many hours ago. */
    hoursPass: (hours: number) =>
      world.servers.owner.query(
        "update load_balancer_traffic set hour = hour - make_interval(hours => $2) where load_balancer_id = $1",
        [lb.id, hours],
      ),
    events: async () =>
      (await must(world.owned.get(`/usage?resource=${lb.id}&kind=load_balancer.traffic`))).items,
  };
}

const meter = () => meterTraffic(world.servers.world.replica.deps.db);
const requestsOf = (events: readonly { quantity: { requests: number } }[]) =>
  events.map(({ quantity }) => quantity.requests);

describe("the traffic of a load balancer in usage", { timeout: 60_000 }, () => {
  test("is one event when its hour is over, with what was carried, and none again", async () => {
    const { lb, carry, hoursPass, events } = await counting();
    await carry(100);
    await meter();
    expect(await events()).toEqual([]);
    await hoursPass(2);
    await meter();
    await meter();
    expect(await events()).toMatchObject([
      {
        kind: "load_balancer.traffic",
        source: "meter",
        job_id: null,
        resource: { type: "load_balancer", id: lb.id, name: lb.name },
        package: lb.package,
        labels: { team: "shop" },
        quantity: { requests: 100, connections: expect.any(Number), bytes_in: 1_000, bytes_out: 90_000 },
      },
    ]);
    expect(await world.violations()).toEqual([]);
  });

  test("has what is told later in the next event, and nothing twice", async () => {
    const { carry, hoursPass, events } = await counting();
    await carry(100);
    await hoursPass(2);
    await meter();
    // Two hours later the same hour has more, and so has the next one.
    await hoursPass(-2);
    await carry(140);
    await hoursPass(2);
    await meter();
    await meter();
    expect(requestsOf(await events())).toEqual([100, 40]);
  });

  test("is counted once by passes at the same time", async () => {
    const { carry, hoursPass, events } = await counting();
    await carry(70);
    await hoursPass(3);
    await Promise.all([meter(), meter(), meter(), meter()]);
    expect(requestsOf(await events())).toEqual([70]);
  });

  test("is counted for each load balancer, whatever happens with another one", async () => {
    const all = [await counting(), await counting(), await counting()];
    for (const { carry, hoursPass } of all) {
      await carry(20);
      await hoursPass(2);
    }
    const [broken] = all;
    const { owner } = world.servers;
    await owner.query(
      `create function refuse_one() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
       create trigger refuse_one before insert on usage_event for each row
         when (new.resource_id = '${broken?.lb.id}') execute function refuse_one()`,
    );
    await expect(meter()).rejects.toThrow(/refused/);
    const counted = await Promise.all(all.map(async ({ events }) => requestsOf(await events())));
    expect(counted).toEqual([[], [20], [20]]);
    await owner.query("drop trigger refuse_one on usage_event");
    await meter();
    expect(requestsOf((await broken?.events()) ?? [])).toEqual([20]);
  });

  test("ends with the rest when the load balancer is deleted", async () => {
    const { lb, carry, events } = await counting();
    await carry(33);
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
    expect((await world.owned.get(`/load-balancers/${lb.id}`)).status).toBe(404);
    expect(requestsOf(await events())).toEqual([33]);
    await meter();
    expect(requestsOf(await events())).toEqual([33]);
    expect(await world.violations()).toEqual([]);
  });

  test("is nothing of what no machine can have carried, which operators read", async () => {
    const { lb, carry, hoursPass, events } = await counting();
    await carry(100);
    await carry(Number.MAX_SAFE_INTEGER);
    // Told again, it is where counting begins anew.
    await carry(Number.MAX_SAFE_INTEGER - 1);
    await hoursPass(2);
    await meter();
    expect(requestsOf(await events())).toEqual([100]);
    const { operator } = world.servers.world;
    const { implausible_traffic } = await must(operator.get(`/regions/${world.servers.region}/capacity`));
    expect(implausible_traffic).toContainEqual({
      organisation_id: world.servers.organisation.id,
      load_balancer_id: lb.id,
      slot: 1,
      message: expect.stringMatching(/^reports 9007199254740\d+ requests in \d+ s$/),
      at: expect.any(String),
    });
    expect(JSON.stringify([await world.get(lb.id), await world.health(lb.id)])).not.toContain("reports 9007");
    await carry(Number.MAX_SAFE_INTEGER);
    await hoursPass(2);
    await meter();
    expect(requestsOf(await events())).toEqual([100, 1]);
    expect(await world.violations()).toEqual([]);
  });

  test("is nothing of bytes that come faster than a machine's network, however often they are told", async () => {
    const { carry, hoursPass, events } = await counting();
    await carry(100);
    // Ten terabytes more with each report.
    for (let more = 1; more <= 6; more += 1) await carry(100 + more, { bytes_out: more * 1e13 });
    await hoursPass(2);
    await meter();
    const told: readonly { quantity: { bytes_out: number } }[] = await events();
    expect(told.map(({ quantity }) => quantity.bytes_out)).toEqual([90_000]);
  });

  test("has no event where nothing was carried", async () => {
    const { lb, carry, events } = await counting();
    await carry(0);
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
    expect(requestsOf(await events()).filter((requests) => requests > 0)).toEqual([]);
  });
});
