import type { Schemas } from "@kule/contract/schemas";
import { connectionsOf } from "@kule/rules/load-balancers/machine-size";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld, wellStatus } from "../../testing/load-balancer-world.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

type LoadBalancer = Schemas["LoadBalancer"];

const serverId = (lb: LoadBalancer, slot: 1 | 2) => lb.machines[slot - 1]?.server_id ?? "";
const resize = (lb: LoadBalancer, to: string, query = "") =>
  world.owned.post(`/load-balancers/${lb.id}/resize${query}`, { package: to });
const packages = (lb: LoadBalancer) =>
  Promise.all(
    lb.machines.map(async ({ server_id }) => (await world.servers.server(server_id ?? "")).package.slug),
  );
/** What the machine in that slot says when it is well. */
const well = (lb: LoadBalancer, slot: 1 | 2, more: object = {}) => ({
  load_balancer_id: lb.id,
  slot,
  server_id: serverId(lb, slot),
  seen_after_ms: 0,
  status: { ...wellStatus, role: slot === 1 ? ("master" as const) : ("backup" as const) },
  ...more,
});
/** A load balancer on two servers of which the first has the address. */
async function pair() {
  const lb = await world.active({ ha: true });
  await world.report(well(lb, 1), well(lb, 2));
  return lb;
}
const ends = (job: Parameters<LoadBalancerWorld["servers"]["agent"]["succeed"]>[0]) =>
  world.servers.agent.succeed(job);
const takeResize = () => world.servers.agent.take("ServerResize");

describe("a resize of a load balancer", { timeout: 60_000 }, () => {
  test("with one server restarts it, and its configuration follows the size", async () => {
    const lb = await world.active();
    const { load_balancer, job } = await must(resize(lb, "m"));
    expect([load_balancer.package, load_balancer.status, load_balancer.job_id]).toEqual([
      "m",
      "updating",
      job.id,
    ]);
    expect(job).toMatchObject({ kind: "ServerResize", resource: { id: serverId(lb, 1) } });
    const taken = await takeResize();
    // The disk stays: the next package may be a smaller one.
    expect(taken.payload).toMatchObject({
      run: true,
      package: { vcpu: 2, memory_mb: 4_096, disk_gb: 40 },
    });
    await ends(taken);
    expect((await world.get(lb.id)).status).toBe("updating");
    const [payload] = await world.settle();
    expect(payload?.machines).toMatchObject([{ slot: 1, max_connections: connectionsOf(4_096) }]);
    const now = await world.get(lb.id);
    expect(now).toMatchObject({ package: "m", status: "active", status_reason: null, job_id: null });
    expect(now.observed_generation).toBe(now.generation);
    expect(await packages(lb)).toEqual(["m"]);
    expect(await world.keep()).toMatchObject({ resized: 0, replaced: 0 });
    expect(await world.violations()).toEqual([]);
  });

  test("to a smaller package allows fewer connections before there is less memory", async () => {
    const lb = await world.active({ package: "l" });
    await must(resize(lb, "s"));
    const apply = await world.servers.agent.take("LoadBalancerApply");
    expect(apply.payload.machines).toMatchObject([{ max_connections: connectionsOf(2_048) }]);
    await world.servers.agent.end(apply, { status: "succeeded" });
    await world.settle();
    expect(await packages(lb)).toEqual(["s"]);
    expect((await world.get(lb.id)).status).toBe("active");
  });

  test("with two servers begins with the standby, and goes on when that answers again", async () => {
    const lb = await pair();
    const { job } = await must(resize(lb, "m"));
    expect(job.resource.id).toBe(serverId(lb, 2));
    const first = await takeResize();
    expect(await world.servers.agent.claim()).toBeNull();
    // While it is away the other one is left alone, and nobody takes it for lost.
    await world.missAsks(lb.id, 12, well(lb, 1), well(lb, 2, { seen_after_ms: null, status: null }));
    expect(await world.keep()).toMatchObject({ resized: 0, replaced: 0 });
    await ends(first);
    await world.settle();
    expect(await packages(lb)).toEqual(["s", "m"]);
    // What it said before it was restarted says nothing of it now.
    await world.report(well(lb, 1));
    expect(await world.keep()).toMatchObject({ resized: 0, replaced: 0 });
    await world.report(well(lb, 1), well(lb, 2));
    expect(await world.keep()).toMatchObject({ resized: 1 });
    expect(await world.keep()).toMatchObject({ resized: 0 });
    const second = await takeResize();
    expect(second.payload.server.id).toBe(serverId(lb, 1));
    expect((await world.get(lb.id)).status).toBe("updating");
    await ends(second);
    await world.settle();
    expect(await packages(lb)).toEqual(["m", "m"]);
    expect(await world.get(lb.id)).toMatchObject({ status: "active", status_reason: null });
    await world.report(well(lb, 1), well(lb, 2));
    expect(await world.keep()).toMatchObject({ resized: 0 });
    expect(await world.violations()).toEqual([]);
  });

  test("waits while the other server does not answer", async () => {
    const lb = await pair();
    await world.missAsks(lb.id, 3, well(lb, 2), well(lb, 1, { seen_after_ms: null, status: null }));
    // The second is the only one that serves.
    const { job } = await must(resize(lb, "m"));
    expect(job.resource.id).toBe(serverId(lb, 1));
    await ends(await takeResize());
    await world.settle();
    expect(await world.keep()).toMatchObject({ resized: 0 });
    await world.report(well(lb, 1), well(lb, 2));
    expect(await world.keep()).toMatchObject({ resized: 1 });
    await world.settle();
    expect(await packages(lb)).toEqual(["m", "m"]);
  });

  test("that fails leaves the other server serving, says so, and goes on with the same request", async () => {
    const lb = await pair();
    await must(resize(lb, "m"));
    const failing = await takeResize();
    await world.servers.agent.fail(failing);
    await world.report(well(lb, 1), well(lb, 2));
    const failed = await world.get(lb.id);
    expect(failed).toMatchObject({
      status: "active",
      package: "m",
      status_reason: { code: "resize_failed", job_id: failing.id },
    });
    // Nothing is tried again by itself, nor does the other one follow.
    expect(await world.keep()).toMatchObject({ resized: 0, replaced: 0 });
    expect(await world.servers.agent.claim()).toBeNull();
    expect(await packages(lb)).toEqual(["s", "s"]);
    const { job, load_balancer } = await must(resize(lb, "m"));
    expect([job.resource.id, load_balancer.status, load_balancer.status_reason]).toEqual([
      serverId(lb, 2),
      "updating",
      null,
    ]);
    await world.settle();
    await world.report(well(lb, 1), well(lb, 2));
    expect(await world.keep()).toMatchObject({ resized: 1 });
    await world.settle();
    expect(await packages(lb)).toEqual(["m", "m"]);
    expect((await world.get(lb.id)).status_reason).toBeNull();
    expect(await world.violations()).toEqual([]);
  });

  test("that has left a server off starts it when it goes on", async () => {
    const lb = await world.active();
    await must(resize(lb, "m"));
    const job = await takeResize();
    await world.servers.agent.end(job, {
      status: "failed",
      observed: { power_state: "off" },
      error: { code: "start_failed", message: "It did not start", retryable: false },
    });
    expect((await world.servers.server(serverId(lb, 1))).status).toBe("stopped");
    await must(resize(lb, "m"));
    const again = await takeResize();
    expect(again.payload.run).toBe(true);
    await ends(again);
    await world.settle();
    expect((await world.servers.server(serverId(lb, 1))).status).toBe("running");
  });

  test("does not take away the only server that serves, when the other one was left off", async () => {
    const lb = await pair();
    await must(resize(lb, "m"));
    await world.settle();
    await world.report(well(lb, 1), well(lb, 2));
    expect(await world.keep()).toMatchObject({ resized: 1 });
    const job = await takeResize();
    await world.servers.agent.end(job, {
      status: "failed",
      observed: { power_state: "off" },
      error: { code: "start_failed", message: "It did not start", retryable: false },
    });
    const back = await must(resize(lb, "s"));
    expect(back.job?.kind).not.toBe("ServerResize");
    await world.settle();
    expect(await world.keep()).toMatchObject({ resized: 0 });
    expect(await packages(lb)).toEqual(["s", "m"]);
  });

  test("can be taken back", async () => {
    const lb = await pair();
    await must(resize(lb, "m"));
    await world.servers.agent.fail(await takeResize());
    const { job, load_balancer } = await must(resize(lb, "s"));
    // None has the other package yet; what waits is the smaller number of connections.
    expect([load_balancer.package, load_balancer.status_reason]).toEqual(["s", null]);
    expect(job?.kind).not.toBe("ServerResize");
    await world.settle();
    expect(await packages(lb)).toEqual(["s", "s"]);
    expect((await world.get(lb.id)).status).toBe("active");
  });

  test("reaches a server that is still being made", async () => {
    const lb = await world.create();
    const { job } = await must(resize(lb, "m"));
    expect(job).toBeNull();
    await world.settle();
    expect(await world.keep()).toMatchObject({ resized: 1 });
    await world.settle();
    expect(await packages(await world.get(lb.id))).toEqual(["m"]);
  });

  test("is refused to the package that it has, to none, of another generation, and while it is deleted", async () => {
    const lb = await world.active();
    const same = await resize(lb, "s");
    expect([same.status, same.body.code, same.body.precondition.name]).toEqual([
      409,
      "invalid_state",
      "package_differs",
    ]);
    const unknown = await resize(lb, "huge");
    expect([unknown.status, unknown.body.errors[0]]).toMatchObject([
      422,
      { pointer: "/package", code: "not_one_of" },
    ]);
    const path = `/load-balancers/${lb.id}/resize`;
    expect((await world.owned.post(path, { package: "m" }, { "if-match": '"g99"' })).status).toBe(412);
    expect((await world.owned.post(path, { package: "m", disk: 4 })).status).toBe(422);
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    expect((await resize(lb, "m")).body.code).toBe("resource_deleting");
    await world.settle();
  });

  test("takes the quotas of all its servers, and waits where there is no more when the next one's turn comes", async () => {
    const lb = await pair();
    const { operator } = world.servers.world;
    const limit = (limits: object) =>
      must(operator.put(`/organisations/${world.servers.organisation.id}/quotas`, { limits }));
    const { used } = (await must(world.owned.get("/quotas"))).items.find(
      ({ name }: { name: string }) => name === "vcpu",
    );
    try {
      await limit({ vcpu: used + 1 });
      const refused = await resize(lb, "m");
      expect([refused.status, refused.body.code]).toEqual([409, "quota_exceeded"]);
      const tried = await must(resize(lb, "m", "?dry_run=true"));
      expect(tried).toMatchObject({ would: null, blockers: [{ code: "quota_exceeded" }] });
      expect(await world.get(lb.id)).toMatchObject({ package: "s", generation: lb.generation });
      await limit({ vcpu: used + 2 });
      const possible = await must(resize(lb, "m", "?dry_run=true"));
      expect(possible).toMatchObject({
        would: { load_balancer: { package: "m" }, job_kind: "ServerResize" },
        blockers: [],
      });
      expect((await world.get(lb.id)).package).toBe("s");
      await must(resize(lb, "m"));
      await world.settle();
      // Somebody else has taken the rest.
      await limit({ vcpu: used + 1 });
      await world.report(well(lb, 1), well(lb, 2));
      expect(await world.keep()).toMatchObject({ resized: 0 });
      expect(await world.get(lb.id)).toMatchObject({
        status: "updating",
        status_reason: { code: "resize_waiting", job_id: null },
      });
    } finally {
      await limit({ vcpu: null });
    }
    expect(await world.keep()).toMatchObject({ resized: 1 });
    await world.settle();
    expect(await packages(lb)).toEqual(["m", "m"]);
    expect(await world.get(lb.id)).toMatchObject({ status: "active", status_reason: null });
    expect(await world.violations()).toEqual([]);
  });
});
