import type { Schemas } from "@kule/contract/schemas";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import type { ClaimedJob } from "../../testing/test-agent.ts";
import { seenAs, TestScanner } from "../../testing/test-scanner.ts";

let world: ServerWorld;
let testScanner: TestScanner;
beforeEach(async () => {
  world = await ServerWorld.open();
  testScanner = new TestScanner(world.agent.api);
});
afterEach(() => world?.close());

const gib = 2 ** 30;
const node = (name: string, memoryGib: number, more: object = {}): Schemas["InventoryNode"] => ({
  name,
  online: true,
  cpus: 64,
  memory_bytes: memoryGib * gib,
  memory_used_bytes: gib,
  others_memory_bytes: 0,
  others_vcpu: 0,
  ...more,
});
const storage = (gigabytes: number) => ({
  name: "ceph",
  node: null,
  total_bytes: gigabytes * gib,
  used_bytes: 0,
});

type Vms = Parameters<TestScanner["look"]>[0];
const report = (nodes: readonly Schemas["InventoryNode"][], vms: Vms = [], diskGb = 100_000) =>
  testScanner.look(vms, { nodes, storages: [storage(diskGb)], images: [] });

/** Servers that run, each with its VM as a scan reports it, on pve1. */
async function running(count: number) {
  const made: { readonly id: string; readonly job: ClaimedJob }[] = [];
  for (let n = 0; n < count; n += 1) {
    const { server } = await world.create({ package: "s" });
    const job = await world.agent.take("ServerCreate");
    await world.agent.succeed(job);
    made.push({ id: server.id, job });
  }
  return made;
}
const asSeen = (made: Awaited<ReturnType<typeof running>>) => made.map(({ job }) => seenAs(job));
const resize = (id: string, slug: string, query = "") =>
  world.owned.post(`/servers/${id}/resize${query}`, { package: slug, allow_restart: true });
const fitting = async (slug = "s") =>
  (
    await world.owned.post("/catalog/check", {
      region: world.region,
      image: "debian-13",
      package: slug,
    })
  ).body.fits;

describe("a server grows", { timeout: 60_000 }, () => {
  test("as far as its node has capacity, and a dry run says so", async () => {
    const made = await running(2);
    const [one, other] = made.map(({ id }) => id);
    // 11,673 MB are free on pve1, of which the two have 4,096; the capacity of other nodes does not help
    // them.
    await report([node("pve1", 12), node("pve2", 500)], asSeen(made));
    const refused = await resize(one ?? "", "xl");
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({
      code: "capacity_unavailable",
      precondition: { name: "node_has_capacity", resource: one },
    });
    expect(refused.body.detail).not.toContain("pve1");
    const dry = await resize(one ?? "", "xl", "?dry_run=true");
    expect(dry.body).toMatchObject({ would: null, blockers: [{ code: "capacity_unavailable" }] });
    // A dry run takes nothing.
    expect((await resize(one ?? "", "l", "?dry_run=true")).body.blockers).toEqual([]);
    expect((await resize(one ?? "", "l")).status).toBe(202);
    for (const when of ["while it grows", "when it has grown", "when that was looked at"]) {
      const late = await resize(other ?? "", "m");
      expect([when, late.status, late.body.code]).toEqual([when, 409, "capacity_unavailable"]);
      if (when === "while it grows") await world.agent.work();
      else await report([node("pve1", 12), node("pve2", 500)], asSeen(made));
    }
    // Growing back is no growth.
    expect((await resize(one ?? "", "s")).status).toBe(409);
    const smaller = await world.owned.post(`/servers/${one}/resize`, {
      package: "s",
      allow_restart: true,
      grow_disk: false,
    });
    expect(smaller.status).toBe(202);
    // What the smaller one releases counts once its node was scanned without it.
    await world.agent.work();
    expect((await resize(other ?? "", "l")).status).toBe(409);
    await report([node("pve1", 12), node("pve2", 500)], asSeen(made));
    expect((await resize(other ?? "", "l")).status).toBe(202);
  });

  test("no further than the CPUs of its node and the storage of its disk", async () => {
    const made = await running(1);
    const id = made[0]?.id ?? "";
    await report([node("pve1", 500, { cpus: 4 })], asSeen(made));
    expect((await resize(id, "xl")).body.code).toBe("capacity_unavailable");
    await report([node("pve1", 500)], asSeen(made), 200);
    expect((await resize(id, "xl")).body.code).toBe("capacity_unavailable");
    const withoutDisk = await world.owned.post(`/servers/${id}/resize`, {
      package: "xl",
      allow_restart: true,
      grow_disk: false,
    });
    expect(withoutDisk.status).toBe(202);
  });

  test("and of many at the same time none is promised what another was", async () => {
    const made = await running(4);
    // Capacity for two that grow by 6,144 MB, in addition to what they have.
    await report([node("pve1", 24)], asSeen(made));
    const answers = await Promise.all(made.map(({ id }) => resize(id, "l")));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 409, 409]);
  });

  test("what it uses is counted once, whenever the scan of the region began", async () => {
    const made = await running(1);
    const id = made[0]?.id ?? "";
    const nodes = [node("pve1", 100)];
    await report(nodes, asSeen(made));
    const before = await fitting();
    const begun = await testScanner.begin();
    expect((await resize(id, "l")).status).toBe(202);
    expect(await fitting()).toBe(before - 3);
    // A scan that began before it, and ends while it is under way.
    await testScanner.batch(begun.pass ?? 0, 0, {
      vms: asSeen(made),
      end: { complete: true, nodes, storages: [storage(100_000)], images: [] },
    });
    expect(await fitting()).toBe(before - 3);
    await world.agent.work();
    expect(await fitting()).toBe(before - 3);
    await report(nodes, asSeen(made));
    expect(await fitting()).toBe(before - 3);
    expect(await world.rows("select * from region_growth")).toEqual([]);
  });

  test("what was requested and cancelled is free again at once", async () => {
    const made = await running(1);
    const id = made[0]?.id ?? "";
    await report([node("pve1", 100)], asSeen(made));
    const before = await fitting();
    expect((await resize(id, "m")).status).toBe(202);
    await world.agent.work();
    expect(await fitting()).toBe(before - 1);
    for (let asked = 0; asked < 3; asked += 1) {
      const { body } = await resize(id, "xl");
      expect(await fitting()).toBe(before - 7);
      expect((await world.owned.post(`/jobs/${body.job.id}/cancel`)).status).toBeLessThan(300);
      expect(await fitting()).toBe(before - 1);
    }
  });

  test("again only while capacity and quota suffice for it again", async () => {
    const made = await running(2);
    const [one, other] = made.map(({ id }) => id);
    await report([node("pve1", 12)], asSeen(made));
    const { body } = await resize(one ?? "", "l");
    const failed = {
      status: "failed",
      error: { code: "region_capacity", message: "No room", retryable: false },
      observed: { power_state: "on" },
    } as const;
    await world.agent.end(await world.agent.take("ServerResize"), failed);
    // Scanned without the growth that was cancelled, so that another server may use the capacity.
    await report([node("pve1", 12)], asSeen(made));
    expect((await resize(other ?? "", "l")).status).toBe(202);
    const retry = () => world.owned.post(`/jobs/${body.job.id}/retry`);
    expect(await retry()).toMatchObject({ status: 409, body: { code: "capacity_unavailable" } });
    expect(await world.server(one ?? "")).toMatchObject({ status: "running" });
    await world.rows("update region_inventory set capacity_at = null");
    const limits = (vcpu: number | null) =>
      world.world.operator.put(`/organisations/${world.organisation.id}/quotas`, { limits: { vcpu } });
    await limits(5);
    expect(await retry()).toMatchObject({ status: 409, body: { code: "quota_exceeded" } });
    await limits(null);
    expect((await retry()).status).toBe(202);
  });
});

describe("a create that is tried again", { timeout: 60_000 }, () => {
  const failed = async () => {
    await report([node("pve1", 100), node("pve2", 50)]);
    const { server, job } = await world.create();
    const taken = await world.agent.take("ServerCreate");
    expect(taken.payload.node).toBe("pve1");
    await world.agent.fail(taken);
    return { id: server.id as string, jobId: job.id as string, taken };
  };
  /** A while ago: a scan that begins now is well after it. */
  const longAgo = async (jobId: string) => {
    await world.rows("update job set finished_at = finished_at - interval '5 minutes' where id = $1", [
      jobId,
    ]);
    await world.rows(
      "update region_inventory set complete_began_at = complete_began_at - interval '5 minutes'",
    );
  };
  const retry = (jobId: string) => world.owned.post(`/jobs/${jobId}/retry`);
  const nodeOfRetry = async (jobId: string) => {
    expect((await retry(jobId)).status).toBe(202);
    return (await world.agent.take("ServerCreate")).payload.node;
  };
  const offline = [node("pve1", 100, { online: false }), node("pve2", 50), node("pve3", 60)];

  test("is placed on another node when its node does not answer and nothing of it exists", async () => {
    const { jobId } = await failed();
    await longAgo(jobId);
    await report(offline);
    const before = await fitting();
    expect(await nodeOfRetry(jobId)).toBe("pve3");
    // Counted where it goes now, before the next scan as after it.
    expect(await fitting()).toBe(before - 1);
    await report(offline);
    expect(await fitting()).toBe(before - 1);
  });

  test("stays on its node while that has capacity for it", async () => {
    const { jobId } = await failed();
    await longAgo(jobId);
    await report([node("pve1", 4), node("pve2", 500)]);
    expect(await nodeOfRetry(jobId)).toBe("pve1");
  });

  test.each([
    ["nobody has looked since", async () => {}],
    [
      "the look that found nothing began too soon after",
      async ({ jobId }: Awaited<ReturnType<typeof failed>>) => {
        await world.rows("update job set finished_at = clock_timestamp() where id = $1", [jobId]);
        await report(offline);
      },
    ],
    [
      "its VM was seen",
      async ({ jobId, taken }: Awaited<ReturnType<typeof failed>>) => {
        await longAgo(jobId);
        await report(offline, [seenAs(taken)]);
      },
    ],
    [
      "the node with its number did not answer",
      async ({ jobId, taken }: Awaited<ReturnType<typeof failed>>) => {
        await longAgo(jobId);
        await report(offline, [{ ...seenAs(taken), state: "unanswered", marker: null }]);
      },
    ],
    [
      "a look was not whole",
      async ({ jobId }: Awaited<ReturnType<typeof failed>>) => {
        await longAgo(jobId);
        await testScanner.look([], { complete: false, nodes: offline, storages: [], images: [] });
      },
    ],
  ])("never moves to another node when there may be a VM of it: %s", async (_why, arrange) => {
    const made = await failed();
    await arrange(made);
    expect(await nodeOfRetry(made.jobId)).toBe("pve1");
  });

  test("is refused when nothing of it exists and no node has capacity", async () => {
    const { id, jobId } = await failed();
    await longAgo(jobId);
    await report([node("pve1", 100, { online: false }), node("pve2", 2)]);
    expect(await retry(jobId)).toMatchObject({ status: 409, body: { code: "capacity_unavailable" } });
    expect(await world.server(id)).toMatchObject({ status: "error", job_id: null });
  });

  test("that was never claimed is placed again at once", async () => {
    await report([node("pve1", 100), node("pve2", 50)]);
    const { job } = await world.create();
    expect((await world.owned.post(`/jobs/${job.id}/cancel`)).status).toBeLessThan(300);
    await report(offline);
    expect(await nodeOfRetry(job.id)).toBe("pve3");
  });
});
