import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import { applyUnseenNetworks } from "./index.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

const hypervisor = { kind: "proxmox", reachable: true };
const health = (edge?: unknown) =>
  world.agent.api.post("/agent/health", {
    agent_version: "0.1.0",
    hypervisor,
    ...(edge === undefined ? {} : { edge }),
  });
/** Everything that is on the edge by the records. */
const onEdge = async () =>
  (await world.rows("select id from network where on_edge order by id")).map(({ id }) => id as string);
let names = 0;
async function network(more: Readonly<Record<string, unknown>> = {}) {
  names += 1;
  const answer = await world.owned.post("/networks", { name: `net-${names}`, region: world.region, ...more });
  expect(answer.status).toBe(answer.body.job === null ? 201 : 202);
  return answer.body as { network: { id: string; generation: number }; job: { id: string } | null };
}
const addSubnet = (id: string, name: string, tier = "app") =>
  world.owned.post(`/networks/${id}/subnets`, { name, tier });
const read = async (path: string) => (await world.owned.get(path)).body;
const take = () => world.agent.take("NetworkApply");

/** A network with one subnet that the edge has. */
async function ready(tier = "app") {
  const { network: made } = await network();
  const { body } = await addSubnet(made.id, "one", tier);
  await world.agent.work();
  return { id: made.id, subnet: body.subnet.id as string };
}

describe("in a region without an edge", () => {
  test("a network exists with the answer to its create, and is removed with the answer to its delete", async () => {
    await health(null);
    const { network: made, job } = await network();
    expect(job).toBeNull();
    const { body } = await addSubnet(made.id, "app");
    expect([body.job, body.subnet.status]).toEqual([null, "active"]);
    const now = await read(`/networks/${made.id}`);
    expect(now).toMatchObject({ status: "active", status_reason: null });
    expect(now.observed_generation).toBe(now.generation);
    expect((await world.owned.delete(`/networks/${made.id}/subnets/${body.subnet.id}`)).status).toBe(204);
    expect((await world.owned.delete(`/networks/${made.id}`)).status).toBe(204);
    expect(await world.agent.claim()).toBeNull();
  });

  test("existing networks are applied to a new edge", async () => {
    await health(null);
    const { network: made } = await network();
    await addSubnet(made.id, "app");
    await health({ reachable: true, networks: [] });
    const job = await take();
    expect(job.payload).toMatchObject({
      network: { id: made.id },
      state: "present",
      subnets: [{ tier: "app" }],
      gateway: null,
    });
    expect(await read(`/networks/${made.id}`)).toMatchObject({
      status: "updating",
      subnets: [{ name: "app" }],
    });
    await world.agent.succeed(job);
    expect(await read(`/networks/${made.id}`)).toMatchObject({ status: "active" });
    await health({ reachable: true, networks: await onEdge() });
    expect(await world.agent.claim()).toBeNull();
  });
});

test("what the region needs is accepted with a job, and the rest is done at once", async () => {
  await health({ reachable: true, networks: await onEdge() });
  const told = await world.owned.post("/networks", { name: "told", region: world.region });
  expect([told.status, told.body.job]).toEqual([202, expect.objectContaining({ kind: "NetworkApply" })]);
  const subnet = await addSubnet(told.body.network.id, "app");
  expect([subnet.status, subnet.body.job]).toEqual([202, expect.objectContaining({ kind: "NetworkApply" })]);
  await world.agent.work();
  await health(null);
  const made = await world.owned.post("/networks", { name: "made", region: world.region });
  expect([made.status, made.body.job]).toEqual([201, null]);
  const second = await addSubnet(made.body.network.id, "app");
  expect([second.status, second.body.job]).toEqual([201, null]);
});

describe("in a region with an edge", () => {
  beforeEach(async () => {
    await world.passBackoff();
    for (const { id } of await world.rows("select id from job where status = 'running'"))
      await world.passLease(id as string);
    await health({ reachable: true, networks: await onEdge() });
    await world.agent.work();
  });

  test("a network is ready when the edge has confirmed it", async () => {
    const { network: made, job } = await network();
    expect(made).toMatchObject({ status: "provisioning", generation: 1, observed_generation: 0 });
    const claimed = await take();
    expect(claimed.id).toBe(job?.id);
    expect(claimed.payload).toMatchObject({ generation: 1, state: "present", subnets: [], gateway: null });
    await world.agent.succeed(claimed);
    expect(await read(`/networks/${made.id}`)).toMatchObject({ status: "active", observed_generation: 1 });
  });

  test("changes during the wait of a job are applied by that job", async () => {
    const { network: made, job } = await network();
    const first = (await addSubnet(made.id, "app")).body;
    const second = (await addSubnet(made.id, "data", "data")).body;
    expect([first.job.id, second.job.id]).toEqual([job?.id, job?.id]);
    expect(second.subnet).toMatchObject({ status: "provisioning", observed_generation: 0 });
    const claimed = await take();
    expect(claimed.payload).toMatchObject({ generation: 3, subnets: [{ tier: "app" }, { tier: "data" }] });
    await world.agent.succeed(claimed);
    expect(await world.agent.claim()).toBeNull();
    expect(await read(`/networks/${made.id}/subnets/${second.subnet.id}`)).toMatchObject({
      status: "active",
    });
  });

  test("changes during the run of a job are applied by the next, and the first reports what it has applied", async () => {
    const { network: made } = await network();
    const running = await take();
    const { body } = await addSubnet(made.id, "app");
    expect(body.job).toMatchObject({ status: "queued", queued_behind: running.id });
    await world.agent.succeed(running);
    expect(await read(`/networks/${made.id}`)).toMatchObject({
      status: "provisioning",
      generation: 2,
      observed_generation: 1,
    });
    expect(await read(`/networks/${made.id}/subnets/${body.subnet.id}`)).toMatchObject({
      status: "provisioning",
    });
    const next = await take();
    expect(next.id).toBe(body.job.id);
    await world.agent.succeed(next);
    expect(await read(`/networks/${made.id}`)).toMatchObject({ status: "active", observed_generation: 2 });
  });

  test("an agent that reports an older generation has applied no other", async () => {
    const { id } = await ready();
    const { body } = await addSubnet(id, "late");
    const claimed = await take();
    await world.agent.end(claimed, {
      status: "succeeded",
      observed: { network_generation: claimed.payload.generation - 1 },
    });
    expect(await read(`/networks/${id}/subnets/${body.subnet.id}`)).toMatchObject({ status: "provisioning" });
    const again = await take();
    expect(again.id).not.toBe(claimed.id);
    await world.agent.succeed(again);
    expect(await read(`/networks/${id}`)).toMatchObject({ status: "active" });
  });

  test("a name is no business of the edge's", async () => {
    const { id, subnet } = await ready();
    expect((await world.owned.patch(`/networks/${id}`, { description: "another" })).body.job).toBeNull();
    expect(
      (await world.owned.patch(`/networks/${id}/subnets/${subnet}`, { name: "two" })).body.job,
    ).toBeNull();
    const now = await read(`/networks/${id}`);
    expect([now.status, now.observed_generation]).toEqual(["active", now.generation]);
  });

  test("a subnet's VLAN and range are free when the edge has removed it, and not before", async () => {
    const { id, subnet } = await ready();
    const { cidr, vlan } = (
      await world.rows(
        "select s.cidr::text, v.vlan from subnet s join region_vlan v on v.subnet_id = s.id where s.id = $1",
        [subnet],
      )
    )[0] as { cidr: string; vlan: number };
    const answer = await world.owned.delete(`/networks/${id}/subnets/${subnet}`);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      subnet: { id: subnet, status: "deleting" },
      job: { kind: "NetworkApply", resource: { type: "network", id, name: expect.any(String) } },
    });
    const twice = await world.owned.delete(`/networks/${id}/subnets/${subnet}`);
    expect([twice.status, twice.body.code]).toEqual([409, "resource_deleting"]);
    const same = await world.owned.post(`/networks/${id}/subnets`, { name: "three", tier: "app", cidr });
    expect([same.status, same.body.code]).toEqual([409, "cidr_overlap"]);
    expect(await world.rows("select subnet_id from region_vlan where vlan = $1", [vlan])).toEqual([
      { subnet_id: subnet },
    ]);
    const claimed = await take();
    expect(claimed.payload).toMatchObject({ state: "present", subnets: [] });
    await world.agent.succeed(claimed);
    expect((await world.owned.get(`/networks/${id}/subnets/${subnet}`)).status).toBe(404);
    expect(await world.rows("select subnet_id from region_vlan where vlan = $1", [vlan])).toEqual([
      { subnet_id: null },
    ]);
    expect(await read(`/networks/${id}`)).toMatchObject({ status: "active", subnets: [] });
  });

  test("nothing of a subnet that is being deleted is assigned", async () => {
    const { id, subnet } = await ready();
    await world.owned.delete(`/networks/${id}/subnets/${subnet}`);
    const server = await world.owned.post("/servers", world.body({ subnet_id: subnet }));
    expect(server.status).toBeGreaterThanOrEqual(400);
    expect(server.status).toBeLessThan(500);
    const firewall = await world.owned.post("/firewalls", {
      name: "late",
      region: world.region,
      rules: [{ protocol: "any", peers: [{ subnet_id: subnet }] }],
    });
    expect(firewall.status).toBe(422);
    const renamed = await world.owned.patch(`/networks/${id}/subnets/${subnet}`, { name: "still" });
    expect([renamed.status, renamed.body.code]).toEqual([409, "resource_deleting"]);
    await world.agent.work();
  });

  test("a network is deleted with the subnets that are being deleted already", async () => {
    const { id, subnet } = await ready();
    const refused = await world.owned.delete(`/networks/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
    await world.owned.delete(`/networks/${id}/subnets/${subnet}`);
    const answer = await world.owned.delete(`/networks/${id}`);
    expect(answer.status).toBe(202);
    expect(answer.body.network.status).toBe("deleting");
    const late = await addSubnet(id, "late");
    expect([late.status, late.body.code]).toEqual([409, "resource_deleting"]);
    const claimed = await take();
    expect(claimed.payload).toMatchObject({ state: "gone", subnets: [], gateway: null });
    await world.agent.succeed(claimed);
    expect((await world.owned.get(`/networks/${id}`)).status).toBe(404);
    expect((await world.owned.get(`/jobs/${claimed.id}`)).body).toMatchObject({
      status: "succeeded",
      retryable: false,
    });
  });

  test("a failure is shown on the subnet or network, and retried on request", async () => {
    const { id } = await ready();
    const { body } = await addSubnet(id, "late");
    await world.agent.fail(await take(), "edge_refused");
    const reason = {
      code: "apply_failed",
      job_id: body.job.id,
      message: expect.stringContaining("router does not answer"),
    };
    expect(await read(`/networks/${id}`)).toMatchObject({ status: "error", status_reason: reason });
    expect(await read(`/networks/${id}/subnets/${body.subnet.id}`)).toMatchObject({
      status: "error",
      status_reason: reason,
    });
    const again = await world.owned.post(`/jobs/${body.job.id}/retry`);
    expect([again.status, again.body.status]).toEqual([202, "queued"]);
    expect(await read(`/networks/${id}/subnets/${body.subnet.id}`)).toMatchObject({ status: "provisioning" });
    await world.agent.succeed(await take());
    expect(await read(`/networks/${id}`)).toMatchObject({ status: "active", status_reason: null });
    expect(await read(`/networks/${id}/subnets/${body.subnet.id}`)).toMatchObject({ status: "active" });
  });

  test("the next change brings what a job failed to bring", async () => {
    const { id } = await ready();
    const { body } = await addSubnet(id, "late");
    await world.agent.fail(await take(), "edge_refused");
    await addSubnet(id, "later");
    expect((await world.owned.post(`/jobs/${body.job.id}/retry`)).status).toBe(409);
    const next = await take();
    expect(next.payload.subnets).toHaveLength(3);
    await world.agent.succeed(next);
    expect(await read(`/networks/${id}/subnets/${body.subnet.id}`)).toMatchObject({ status: "active" });
    expect((await read(`/jobs/${body.job.id}`)).retryable).toBe(false);
  });

  test("a removal that failed leaves everything allocated, and may be requested again", async () => {
    const { id, subnet } = await ready();
    await world.owned.delete(`/networks/${id}/subnets/${subnet}`);
    await world.agent.fail(await take(), "edge_refused");
    expect(await read(`/networks/${id}/subnets/${subnet}`)).toMatchObject({
      status: "deleting",
      status_reason: { code: "apply_failed" },
    });
    const again = await world.owned.delete(`/networks/${id}/subnets/${subnet}`);
    expect(again.status).toBe(202);
    await world.agent.work();
    expect((await world.owned.get(`/networks/${id}/subnets/${subnet}`)).status).toBe(404);
  });

  test("a job that cannot be cancelled shows that", async () => {
    const { job } = await network();
    const refused = await world.owned.post(`/jobs/${job?.id}/cancel`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    await world.agent.work();
  });

  test("an agent without an edge is not assigned jobs for one", async () => {
    const { job } = await network();
    expect(await world.agent.claim({ capabilities: ["ServerCreate"] })).toBeNull();
    expect((await take()).id).toBe(job?.id);
  });

  test("networks at an edge are removed by a job even when the region file has no edge any more", async () => {
    const { id, subnet } = await ready();
    await health(null);
    expect((await world.owned.delete(`/networks/${id}/subnets/${subnet}`)).status).toBe(202);
    await world.agent.work();
    await health({ reachable: true, networks: await onEdge() });
  });

  test("a job that no agent claims, since the region file has no edge any more, ends, and is re-applied when the edge is back", async () => {
    const { id, subnet } = await ready();
    const { id: going } = await ready();
    const kept = (await world.owned.delete(`/networks/${id}/subnets/${subnet}`)).body.job;
    const late = (await addSubnet(going, "late")).body;
    await health(null);
    // An agent whose region file still has the edge gets time to claim it.
    expect(await read(`/jobs/${kept.id}`)).toMatchObject({ status: "queued" });
    await world.rows("update job set run_at = run_at - interval '61 seconds' where status = 'queued'");
    await health(null);
    for (const job of [kept.id, late.job.id])
      expect(await read(`/jobs/${job}`)).toMatchObject({
        status: "cancelled",
        error: { code: "edge_missing", message: expect.stringContaining("no edge") },
        retryable: true,
      });
    expect(await read(`/networks/${going}`)).toMatchObject({
      status: "error",
      status_reason: { code: "apply_failed", message: expect.stringContaining("no edge") },
    });
    // A subnet that the edge has keeps its VLAN: its removal was not confirmed.
    expect(await read(`/networks/${id}/subnets/${subnet}`)).toMatchObject({ status: "deleting" });
    expect(await world.rows("select vlan from region_vlan where subnet_id = $1", [subnet])).toHaveLength(1);
    await health({ reachable: true, networks: await onEdge() });
    expect(await read(`/networks/${going}`)).toMatchObject({ status: "updating", status_reason: null });
    await world.agent.work();
    expect(await read(`/networks/${going}`)).toMatchObject({ status: "active" });
    expect(await read(`/networks/${going}/subnets/${late.subnet.id}`)).toMatchObject({ status: "active" });
    expect((await world.owned.get(`/networks/${id}/subnets/${subnet}`)).status).toBe(404);
    expect(await world.agent.claim()).toBeNull();
  });

  test("a job that an agent has claimed stays with it, whatever another agent's region file says", async () => {
    const { id } = await ready();
    await addSubnet(id, "late");
    const claimed = await take();
    await world.rows("update job set run_at = run_at - interval '61 seconds' where id = $1", [claimed.id]);
    await health(null);
    await world.agent.succeed(claimed);
    expect(await read(`/networks/${id}`)).toMatchObject({ status: "active" });
    await health({ reachable: true, networks: await onEdge() });
  });

  test("a network that an edge has lost is applied again, and only that one", async () => {
    const { id } = await ready();
    await ready();
    await world.rows("update network set applied_at = applied_at - interval '1 minute' where on_edge");
    const others = (await onEdge()).filter((each) => each !== id);
    await health({ reachable: true, networks: others });
    await health({ reachable: true, networks: others });
    const claimed = await take();
    expect(claimed.payload.network.id).toBe(id);
    await world.agent.succeed(claimed);
    expect(await world.agent.claim()).toBeNull();
  });

  test("an edge that does not answer has lost nothing", async () => {
    await ready();
    await world.rows("update network set applied_at = applied_at - interval '1 minute' where on_edge");
    await health({ reachable: false, message: "no answer" });
    expect(await world.agent.claim()).toBeNull();
  });

  test("each network is compared with what its edge holds from time to time", async () => {
    const { id } = await ready();
    expect(await applyUnseenNetworks(world.world.replica.deps.db, 3600)).toBe(0);
    await world.rows("update network set applied_at = applied_at - interval '2 hours' where id = $1", [id]);
    expect(await applyUnseenNetworks(world.world.replica.deps.db, 3600)).toBe(1);
    expect(await applyUnseenNetworks(world.world.replica.deps.db, 3600)).toBe(0);
    const claimed = await take();
    expect(claimed.payload.network.id).toBe(id);
    await world.agent.succeed(claimed);
    expect(await read(`/networks/${id}`)).toMatchObject({ status: "active" });
  });

  test("a namespace of an unknown network is shown to operators, and stays", async () => {
    const known = await onEdge();
    await health({ reachable: true, networks: [...known, "net_stranger"] });
    const { body } = await world.world.operator.get(`/regions/${world.region}`);
    expect(body.edge).toMatchObject({
      reachable: true,
      networks: known.length + 1,
      unknown_networks: ["net_stranger"],
    });
    expect(await world.agent.claim()).toBeNull();
  });

  test("a first server creates its network too, and the edge gets one job", async () => {
    const other = await world.world.addOrganisation(`along-${names}`);
    const answer = await other.owner.post("/servers", world.body());
    expect(answer.status).toBe(202);
    const kinds = (await world.agent.work()).map(({ kind }) => kind as string).sort();
    expect(kinds).toEqual(["NetworkApply", "ServerCreate"]);
  });

  test("a transaction that leaves a network pending without a job cannot commit", async () => {
    const { id } = await ready();
    const leave = (text: string) => expect(world.rows(text, [id])).rejects.toThrow(/no job takes it/);
    await leave("update network set status = 'updating' where id = $1");
    await leave("update network set status = 'deleting' where id = $1");
    await leave("update subnet set status = 'provisioning' where network_id = $1");
    await leave("update subnet set status = 'deleting' where network_id = $1");
    await addSubnet(id, "late");
    await expect(world.rows("delete from subnet where network_id = $1", [id])).resolves.toEqual([]);
    await expect(world.rows("delete from network where id = $1", [id])).rejects.toThrow(/has an open job/);
    await world.agent.work();
  });
});
