import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld, wellStatus } from "../../testing/load-balancer-world.ts";
import { serverHooks } from "../server-hooks.ts";
import type { ServerHooks } from "../servers/index.ts";
import { keepLoadBalancers } from "./index.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

type LoadBalancer = Awaited<ReturnType<LoadBalancerWorld["get"]>>;
const machine = (lb: LoadBalancer, slot: 1 | 2) => ({
  load_balancer_id: lb.id,
  slot,
  server_id: lb.machines[slot - 1]?.server_id ?? "",
});
const answers = { seen_after_ms: 0, status: wellStatus };

describe("the machines of a load balancer", { timeout: 60_000 }, () => {
  test("of two the lost one is replaced, while the other one serves, and that is in the audit trail", async () => {
    const lb = await world.active({ ha: true });
    await world.report({ ...machine(lb, 1), ...answers }, { ...machine(lb, 2), ...answers });
    expect(await world.keep()).toMatchObject({ replaced: 0, made: 0 });
    await world.passTime(lb.id, 301);
    await world.report({ ...machine(lb, 1), ...answers }, machine(lb, 2));
    // Nobody has asked for a while: one answer that is missed says nothing.
    expect(await world.keep()).toMatchObject({ replaced: 0 });
    expect((await world.get(lb.id)).status).toBe("active");
    await world.missAsks(lb.id, 9, { ...machine(lb, 1), ...answers }, machine(lb, 2));
    expect(await world.get(lb.id)).toMatchObject({
      status: "degraded",
      status_reason: { code: "machine_silent", job_id: null },
    });
    expect(await world.keep()).toMatchObject({ replaced: 1 });
    const replaced = await world.get(lb.id);
    expect(replaced.machines[0]).toEqual(lb.machines[0]);
    expect(replaced.machines[1]?.server_id).not.toBe(lb.machines[1]?.server_id);
    // One at a time: nothing more while it is made.
    expect(await world.keep()).toMatchObject({ replaced: 0, made: 0 });
    const payload = (await world.settle()).at(-1);
    expect(payload?.machines).toMatchObject([
      { slot: 1, has_state: true },
      { slot: 2, has_state: false, server_id: replaced.machines[1]?.server_id },
    ]);
    expect((await world.get(lb.id)).status).toBe("active");
    const { items } = await must(world.owned.get(`/audit?resource=${lb.id}`));
    expect(items).toContainEqual(
      expect.objectContaining({
        action: "load_balancer.replace_machine",
        actor: expect.objectContaining({ type: "system" }),
        details: expect.objectContaining({ slot: 2, server: lb.machines[1]?.server_id }),
      }),
    );
    expect((await world.owned.get(`/servers/${lb.machines[1]?.server_id}`)).status).toBe(404);
    expect(await world.violations()).toEqual([]);
  });

  test("are replaced also when another load balancer's cannot be, for a reason that nobody expects", async () => {
    const broken = await world.active({ ha: true });
    const other = await world.active({ ha: true });
    for (const lb of [broken, other]) {
      await world.report({ ...machine(lb, 1), ...answers }, { ...machine(lb, 2), ...answers });
      await world.loseVm(lb.machines[1]?.server_id ?? "");
    }
    const failing: ServerHooks = {
      check: async (_request, { name }) => {
        if (name?.startsWith(broken.name)) throw new Error("a defect");
        return [];
      },
    };
    const { deps } = world.servers.world.replica;
    const pass = keepLoadBalancers({ ...deps, hooks: [failing, ...serverHooks] });
    await expect(pass).rejects.toThrow("a defect");
    expect((await world.get(broken.id)).machines).toEqual(broken.machines);
    expect((await world.get(other.id)).machines[1]?.server_id).not.toBe(other.machines[1]?.server_id);
    expect(await world.keep()).toMatchObject({ replaced: 1 });
    await world.settle();
  });

  test("are looked at without a lock while there is nothing to do", async () => {
    const lb = await world.active();
    const somebody = await world.servers.owner.connect();
    try {
      await somebody.query("begin");
      await somebody.query("select from load_balancer where id = $1 for update", [lb.id]);
      expect(await world.keep()).toEqual({
        replaced: 0,
        made: 0,
        resized: 0,
        applied: 0,
        answering: 0,
        ended: 0,
      });
    } finally {
      await somebody.query("rollback");
      somebody.release();
    }
  });

  test("are not replaced while both are silent, nor while nobody asks", async () => {
    const lb = await world.active({ ha: true });
    await world.report({ ...machine(lb, 1), ...answers }, { ...machine(lb, 2), ...answers });
    await world.passTime(lb.id, 400);
    expect(await world.keep()).toMatchObject({ replaced: 0 });
    await world.missAsks(lb.id, 10, machine(lb, 1), machine(lb, 2));
    expect(await world.keep()).toMatchObject({ replaced: 0 });
    expect((await world.get(lb.id)).status).toBe("degraded");
    await world.report({ ...machine(lb, 1), ...answers }, { ...machine(lb, 2), ...answers });
    expect((await world.get(lb.id)).status).toBe("active");
  });

  test("alone is replaced when its VM is gone, with the public address that it had", async () => {
    const lb = await world.active({ public_ip: "auto" });
    await world.report({ ...machine(lb, 1), ...answers });
    const lost = lb.machines[0]?.server_id ?? "";
    await world.loseVm(lost);
    expect((await world.get(lb.id)).status).toBe("degraded");
    expect(await world.keep()).toMatchObject({ replaced: 1 });
    // The address is on the old server until that is destroyed.
    expect(await world.keep()).toMatchObject({ made: 0 });
    await world.settle();
    expect(await world.keep()).toMatchObject({ made: 1 });
    await world.settle();
    const now = await world.get(lb.id);
    expect(now).toMatchObject({ status: "active", public_ip: lb.public_ip });
    expect(now.machines[0]?.server_id).not.toBe(lost);
    const server = await world.servers.server(now.machines[0]?.server_id ?? "");
    expect(server.public_ips).toMatchObject([{ id: lb.public_ip?.id }]);
    expect(await world.violations()).toEqual([]);
  });

  test("that was silent while a change was applied gets it when it answers again", async () => {
    const lb = await world.active({ ha: true });
    await must(world.owned.patch(`/load-balancers/${lb.id}`, { algorithm: "source_hash" }));
    const job = await world.servers.agent.take("LoadBalancerApply");
    const { generation } = job.payload;
    await world.servers.agent.end(job, {
      status: "succeeded",
      observed: {
        load_balancer: {
          generation,
          machines: [
            { slot: 1, outcome: "applied", generation, role: "active" },
            { slot: 2, outcome: "silent", generation: null, role: null },
          ],
        },
      },
    });
    const behind = await world.get(lb.id);
    expect(behind.observed_generation).toBeLessThan(behind.generation);
    await world.report({ ...machine(lb, 1), ...answers }, machine(lb, 2));
    expect(await world.keep()).toMatchObject({ applied: 0 });
    expect((await world.health(lb.id)).machines[1]).toMatchObject({ state: "behind" });
    await world.report({ ...machine(lb, 2), ...answers });
    expect(await world.keep()).toMatchObject({ applied: 1 });
    await world.settle();
    const now = await world.get(lb.id);
    expect(now.observed_generation).toBe(now.generation);
  });
});
