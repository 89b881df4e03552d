import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld } from "../../testing/load-balancer-world.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

const add = (id: string, target: object) => world.owned.post(`/load-balancers/${id}/targets`, target);
/** The addresses in the payload of the job that waits. */
async function applied() {
  return (await world.settle()).at(-1)?.targets.map(({ address }) => address);
}

describe("the targets of a load balancer", { timeout: 60_000 }, () => {
  test("are servers, addresses and what label selectors find, each address once", async () => {
    const web = await world.server({ labels: { role: "named" } });
    const lb = await world.active();
    const { target } = await must(add(lb.id, { server_id: web.id, weight: 2, backup: true }));
    expect(target).toMatchObject({ server_id: web.id, address: null, weight: 2, backup: true, drain: false });
    await must(add(lb.id, { label_selector: "role=named" }));
    await must(add(lb.id, { address: "10.20.0.200" }));
    const payload = (await world.settle()).at(-1);
    expect(payload?.targets).toEqual([
      expect.objectContaining({ target_id: target.id, address: web.interfaces[0].private_ip, weight: 2 }),
      expect.objectContaining({ address: "10.20.0.200", selected_server_id: null }),
    ]);
    expect((await must(world.owned.get(`/load-balancers/${lb.id}/targets?limit=2`))).items.length).toBe(2);
    const again = await add(lb.id, { server_id: web.id });
    expect(again.body).toMatchObject({
      code: "already_attached",
      precondition: { name: "target_not_attached", resource: target.id },
    });
  });

  test("by a label selector follow servers that come, change their labels and go", async () => {
    const lb = await world.active({ targets: [{ label_selector: "role=web" }] });
    const one = await world.server({ labels: { role: "web" } });
    expect(await world.follow()).toBe(1);
    expect(await applied()).toEqual([one.interfaces[0].private_ip]);
    // Nothing has changed since.
    expect(await world.follow()).toBe(0);
    await must(world.owned.patch(`/servers/${one.id}`, { labels: { role: "other" } }));
    expect(await world.follow()).toBe(1);
    expect(await applied()).toEqual([]);
    await must(world.owned.patch(`/servers/${one.id}`, { labels: { role: "web" } }));
    await world.follow();
    const { generation } = await world.get(lb.id);
    await must(world.owned.delete(`/servers/${one.id}`));
    expect(await world.follow()).toBe(1);
    expect((await world.get(lb.id)).generation).toBe(generation + 1);
    expect(await applied()).toEqual([]);
    const { rows } = await world.servers.owner.query(
      "select 1 from graphile_worker.jobs where task_identifier = 'follow_targets'",
    );
    expect(rows.length).toBeGreaterThan(0);
  });

  test("that name a server go with it", async () => {
    const server = await world.server();
    const lb = await world.active({ targets: [{ server_id: server.id }] });
    await must(world.owned.delete(`/servers/${server.id}?purge=true`));
    await world.servers.agent.work();
    await world.follow();
    expect((await world.get(lb.id)).targets).toBe(0);
    expect(await applied()).toEqual([]);
    expect(await world.violations()).toEqual([]);
  });

  test("are drained, and get traffic again", async () => {
    const lb = await world.active({ targets: [{ address: "10.20.0.201" }] });
    const { items } = await must(world.owned.get(`/load-balancers/${lb.id}/targets`));
    const path = `/load-balancers/${lb.id}/targets/${items[0].id}`;
    expect((await must(world.owned.patch(path, { drain: true }))).target.drain).toBe(true);
    expect((await world.settle()).at(-1)?.targets[0]?.drain).toBe(true);
    const { targets } = await world.health(lb.id);
    expect(targets).toMatchObject([{ address: "10.20.0.201", status: "unknown" }]);
    await must(world.owned.patch(path, { drain: false, weight: 256 }));
    expect((await world.settle()).at(-1)?.targets[0]).toMatchObject({ drain: false, weight: 256 });
    expect((await world.owned.patch(path, { weight: 257 })).body.errors[0].pointer).toBe("/weight");
    await must(world.owned.delete(path));
    expect((await world.owned.delete(path)).status).toBe(404);
    expect(await applied()).toEqual([]);
  });

  test("are of its own network, and never itself", async () => {
    const lb = await world.active({ ha: true });
    const elsewhere = await world.servers.createRunning({ subnet_id: (await world.gateways.network()).app });
    const own = await world.owned.get(`/servers/${lb.machines[0]?.server_id}`);
    for (const [target, pointer] of [
      [{ server_id: elsewhere.id }, "/server_id"],
      [{ server_id: own.body.id }, "/server_id"],
      [{ server_id: "srv_none" }, "/server_id"],
      [{ address: lb.private_ip }, "/address"],
      [{ address: lb.machines[1]?.private_ip }, "/address"],
      [{ address: "192.168.7.7" }, "/address"],
      [{ address: "::1" }, "/address"],
      [{ label_selector: "((" }, "/label_selector"],
      [{}, "/server_id"],
    ] as const) {
      const { status, body } = await add(lb.id, target);
      expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
    }
  });

  test("are at most 64", async () => {
    const targets = Array.from({ length: 64 }, (_, index) => ({ address: `10.20.1.${index + 1}` }));
    const lb = await world.active({ targets });
    expect((await add(lb.id, { address: "10.20.1.100" })).body.precondition).toMatchObject({
      name: "load_balancer_has_target_room",
    });
    const more = await world.post({ targets: [...targets, { address: "10.20.1.100" }] });
    expect(more.status).toBe(422);
  });
});
