import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld } from "../../testing/load-balancer-world.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

const isGone = async (id: string) => (await world.owned.get(`/load-balancers/${id}`)).status === 404;

describe("a load balancer that is deleted", { timeout: 60_000 }, () => {
  test("is gone when its servers are, with its listeners and targets", async () => {
    const lb = await world.active({
      ha: true,
      listeners: [{ protocol: "tcp", port: 80 }],
      targets: [{ label_selector: "role=web" }],
    });
    const answer = await must(world.owned.delete(`/load-balancers/${lb.id}`));
    expect(answer.load_balancer).toMatchObject({ id: lb.id, status: "deleting" });
    expect(answer.job.kind).toBe("ServerDestroy");
    await world.settle();
    expect(await isGone(lb.id)).toBe(true);
    for (const table of ["listener", "load_balancer_target", "load_balancer_machine"])
      expect(await world.servers.rows(`select from ${table} where load_balancer_id = $1`, [lb.id])).toEqual(
        [],
      );
    const rows = await world.servers.rows("select state from address where host(address) = $1", [
      lb.private_ip,
    ]);
    expect(rows).toEqual([{ state: "quarantined" }]);
    expect(await world.violations()).toEqual([]);
  });

  test("is deleted in every state: before its server is made", async () => {
    const lb = await world.create();
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
    expect(await isGone(lb.id)).toBe(true);
  });

  test("is deleted in every state: while its server is made", async () => {
    const lb = await world.create();
    const job = await world.servers.agent.take("ServerCreate");
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.servers.agent.succeed(job);
    await world.settle();
    expect(await isGone(lb.id)).toBe(true);
  });

  test("is deleted in every state: while a change is applied, which ends then", async () => {
    const lb = await world.active();
    await must(world.owned.patch(`/load-balancers/${lb.id}`, { algorithm: "source_hash" }));
    const job = await world.servers.agent.take("LoadBalancerApply");
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    const answer = await world.servers.agent.report(job, { phase: "apply" });
    expect(answer.body.cancel_requested).toBe(true);
    await world.settle();
    expect((await world.get(lb.id)).status).toBe("deleting");
    await world.servers.agent.end(job, { status: "cancelled" });
    expect(await isGone(lb.id)).toBe(true);
  });

  test("is deleted in every state: after its server's creation has failed", async () => {
    const lb = await world.create();
    await world.servers.agent.fail(await world.servers.agent.take("ServerCreate"));
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
    expect(await isGone(lb.id)).toBe(true);
    expect(await world.violations()).toEqual([]);
  });

  test("takes no change any more, and a second delete tries again what has failed", async () => {
    const lb = await world.active();
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    const change = await world.owned.post(`/load-balancers/${lb.id}/listeners`, { protocol: "tcp", port: 1 });
    expect(change.body).toMatchObject({
      code: "resource_deleting",
      precondition: { name: "load_balancer_not_deleting" },
    });
    await world.servers.agent.fail(await world.servers.agent.take("ServerDestroy"));
    expect((await world.get(lb.id)).status).toBe("deleting");
    const again = await must(world.owned.delete(`/load-balancers/${lb.id}`));
    expect(again.job.kind).toBe("ServerDestroy");
    await world.settle();
    expect(await isGone(lb.id)).toBe(true);
  });

  test("whose server an operator has locked waits for the lock, and then goes by itself", async () => {
    const lb = await world.active();
    const { world: api, organisation } = world.servers;
    const operator = api.operator.with({ "Kule-Organisation": organisation.id });
    const serverId = lb.machines[0]?.server_id;
    await operator.post(`/servers/${serverId}/lock`, { reason: "abuse" });
    expect((await must(world.owned.delete(`/load-balancers/${lb.id}`))).job).toBeNull();
    await world.keep();
    expect((await world.get(lb.id)).status).toBe("deleting");
    await operator.post(`/servers/${serverId}/unlock`);
    await world.keep();
    await world.settle();
    expect(await isGone(lb.id)).toBe(true);
    expect(await world.violations()).toEqual([]);
  });
});
