import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());
afterEach(async () => {
  await world.passBackoff();
  await world.agent.work();
});

const resize = (id: string, body: object, query = "") =>
  world.owned.post(`/servers/${id}/resize${query}`, body);
type Event = { kind: string; package: string; quantity: { vcpu: number; disk_gb: number } };
const usageOf = async (id: string) =>
  (await world.owned.get(`/usage?resource=${id}`)).body.items.map(
    ({ kind, package: slug, quantity }: Event) => `${kind} ${slug} ${quantity.vcpu} ${quantity.disk_gb}`,
  );

describe("POST /servers/{id}/resize", () => {
  test("gives a running server another package once the region has confirmed it", async () => {
    const server = await world.createRunning({ package: "s" });
    const answer = await resize(server.id, { package: "l", allow_restart: true });
    expect(answer.status).toBe(202);
    expect(answer.body.server).toMatchObject({ status: "resizing", package: { slug: "s" }, disk_gb: 40 });
    expect(answer.body.job).toMatchObject({ kind: "ServerResize", action: null });
    const [taken] = await world.rows("select resize_package, resize_disk_gb from server where id = $1", [
      server.id,
    ]);
    expect(taken).toEqual({ resize_package: "l", resize_disk_gb: 160 });

    const job = await world.agent.take("ServerResize");
    expect(job.payload).toMatchObject({
      package: { vcpu: 4, memory_mb: 8192, disk_gb: 160 },
      run: true,
    });
    await world.agent.succeed(job, "on");
    expect(await world.server(server.id)).toMatchObject({
      status: "running",
      package: { slug: "l", vcpu: 4 },
      disk_gb: 160,
    });
    const [after] = await world.rows("select resize_package, resize_disk_gb from server where id = $1", [
      server.id,
    ]);
    expect(after).toEqual({ resize_package: null, resize_disk_gb: null });
    expect(await usageOf(server.id)).toEqual([
      "disk.allocated s 1 40",
      "server.started s 1 40",
      "server.resized l 4 160",
    ]);
  });

  test("to what the server has already is refused, and a disk that is smaller than the package's may grow", async () => {
    const server = await world.createRunning({ package: "s" });
    for (const grow_disk of [true, false]) {
      const same = await resize(server.id, { package: "s", grow_disk, allow_restart: true });
      expect(same).toMatchObject({
        status: 409,
        body: { code: "invalid_state", precondition: { name: "package_differs", resource: server.id } },
      });
    }
    const dry = await resize(server.id, { package: "s" }, "?dry_run=true");
    expect(dry.body.blockers).toMatchObject([{ name: "package_differs" }]);
    await world.rows("update server set disk_gb = 20 where id = $1", [server.id]);
    expect((await resize(server.id, { package: "s" })).status).toBe(202);
    await world.agent.succeed(await world.agent.take("ServerResize"), "on");
  });

  test("needs a restart of a running server, unless only the disk grows", async () => {
    const server = await world.createRunning({ package: "s" });
    const refused = await resize(server.id, { package: "m" });
    expect([refused.status, refused.body.code, refused.body.precondition.name]).toEqual([
      409,
      "invalid_state",
      "server_may_restart",
    ]);
    await resize(server.id, { package: "m", allow_restart: true, grow_disk: false });
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ package: { slug: "m", disk_gb: 80 }, disk_gb: 40 });
    // The same package with its disk: a change that needs no restart of the guest.
    expect((await resize(server.id, { package: "m" })).status).toBe(202);
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ status: "running", disk_gb: 80 });
    expect((await usageOf(server.id)).slice(-2)).toEqual(["server.resized m 2 40", "server.resized m 2 80"]);
  });

  test("changes nothing else any more when it is superseded by the server's removal", async () => {
    const server = await world.createRunning({ package: "s" });
    expect((await resize(server.id, { package: "l", allow_restart: true })).status).toBe(202);
    expect((await world.owned.delete(`/servers/${server.id}`)).status).toBe(202);
    const [taken] = await world.rows("select resize_package, resize_disk_gb from server where id = $1", [
      server.id,
    ]);
    expect(taken).toEqual({ resize_package: null, resize_disk_gb: null });
    expect(await world.rows("select id from region_growth where server_id = $1", [server.id])).toEqual([]);
    await world.agent.work();
    expect((await world.owned.post(`/servers/${server.id}/cancel-deletion`)).status).toBe(202);
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ status: "running", package: { slug: "s" } });
  });

  test("never makes a disk smaller: it is kept, or the resize is refused", async () => {
    const server = await world.createRunning({ package: "l", start: false });
    const refused = await resize(server.id, { package: "s" });
    expect([refused.status, refused.body.code]).toEqual([409, "disk_shrink_forbidden"]);
    expect(refused.body.precondition.fix).toContain('"grow_disk":false');
    const down = await resize(server.id, { package: "s", grow_disk: false });
    expect(down.status).toBe(202);
    const job = await world.agent.take("ServerResize");
    expect(job.payload).toMatchObject({ package: { vcpu: 1, memory_mb: 2048, disk_gb: 160 }, run: false });
    await world.agent.succeed(job, "off");
    expect(await world.server(server.id)).toMatchObject({
      status: "stopped",
      package: { slug: "s" },
      disk_gb: 160,
    });
  });

  test("adds its growth to the quotas at once, and releases nothing before its end", async () => {
    const limits = (quotas: object) =>
      world.world.operator.put(`/organisations/${world.organisation.id}/quotas`, { limits: quotas });
    const used = async (): Promise<number> =>
      (await world.owned.get("/quotas")).body.items.find(({ name }: { name: string }) => name === "vcpu")
        .used;
    const server = await world.createRunning({ package: "s" });
    expect((await limits({ vcpu: (await used()) + 1 })).status).toBe(200);
    const tooMuch = await resize(server.id, { package: "l", allow_restart: true });
    expect([tooMuch.status, tooMuch.body.code]).toEqual([409, "quota_exceeded"]);
    expect((await resize(server.id, { package: "m", allow_restart: true })).status).toBe(202);
    const full = await world.owned.post("/servers", world.body({ package: "s" }));
    expect([full.status, full.body.code]).toEqual([409, "quota_exceeded"]);
    await world.agent.work();
    // On the way down the larger package counts until the region has the smaller one.
    await resize(server.id, { package: "s", allow_restart: true, grow_disk: false });
    expect((await world.owned.post("/servers", world.body({ package: "s" }))).body.code).toBe(
      "quota_exceeded",
    );
    await world.agent.work();
    expect((await world.owned.post("/servers", world.body({ package: "s" }))).status).toBe(202);
    await limits({ vcpu: null });
  });

  test("keeps Windows its minimum, and accepts only existing packages", async () => {
    await world.rows("update region set agent_public_key = $1", [Buffer.alloc(32, 9).toString("base64")]);
    const server = await world.createRunning({ image: "windows-2022", package: "l" });
    const small = await resize(server.id, { package: "m", allow_restart: true, grow_disk: false });
    expect([small.status, small.body.errors[0].code]).toEqual([422, "os_plan_mismatch"]);
    expect((await resize(server.id, { package: "xs" })).body.errors).toMatchObject([
      { field: "package", code: "not_one_of" },
    ]);
  });

  test("that failed leaves the package as it was, says why, and continues with a retry", async () => {
    const server = await world.createRunning({ package: "s" });
    const { body } = await resize(server.id, { package: "m", allow_restart: true });
    await world.agent.end(await world.agent.take("ServerResize"), {
      status: "failed",
      error: { code: "region_capacity", message: "No room", retryable: false },
      observed: { power_state: "off" },
    });
    expect(await world.server(server.id)).toMatchObject({
      status: "stopped",
      package: { slug: "s" },
      status_reason: {
        code: "resize_failed",
        message: "The region has no room for this at the moment.",
        job_id: body.job.id,
      },
    });
    expect((await world.owned.post(`/jobs/${body.job.id}/retry`)).status).toBe(202);
    expect(await world.server(server.id)).toMatchObject({ status: "resizing", status_reason: null });
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ status: "running", package: { slug: "m" } });
  });

  test.each(["failed", "cancelled"] as const)(
    "that %s after the disk had grown leaves the disk recorded, counted and paid for as it is",
    async (status) => {
      const server = await world.createRunning({ package: "s" });
      await resize(server.id, { package: "l", allow_restart: true });
      const job = await world.agent.take("ServerResize");
      // Only a job that is superseded can be cancelled.
      if (status === "cancelled") await world.owned.delete(`/servers/${server.id}`);
      await world.agent.end(job, {
        status,
        ...(status === "failed" ? { error: { code: "region_capacity", message: "No room" } } : {}),
        observed: { power_state: "on", disk_bytes: 160 * 2 ** 30 },
      });
      expect(await world.server(server.id)).toMatchObject({ package: { slug: "s" }, disk_gb: 160 });
      expect((await usageOf(server.id)).at(-1)).toBe("server.resized s 1 160");
      const [growth] = await world.rows(
        "select vcpu, memory_mb, disk_gb from region_growth where server_id = $1",
        [server.id],
      );
      expect(growth).toEqual({ vcpu: 0, memory_mb: 0, disk_gb: 120 });
      const segments = await world.rows(
        "select quantity from usage_segment where resource_id = $1 and kind = 'disk' and ended_at is null",
        [server.id],
      );
      expect(segments).toEqual([{ quantity: { disk_gb: 160 } }]);
      await world.agent.work();
      if (status === "cancelled") return;
      const smaller = await resize(server.id, { package: "m", allow_restart: true });
      expect(smaller.body.code).toBe("disk_shrink_forbidden");
    },
  );

  test("retried after its disk had grown takes only what is missing, and never calls the disk smaller", async () => {
    const server = await world.createRunning({ package: "s" });
    const { body } = await resize(server.id, { package: "l", allow_restart: true });
    await world.agent.end(await world.agent.take("ServerResize"), {
      status: "failed",
      error: { code: "region_capacity", message: "No room" },
      observed: { power_state: "on", disk_bytes: 100 * 2 ** 30 },
    });
    expect(await world.server(server.id)).toMatchObject({ package: { slug: "s" }, disk_gb: 100 });
    expect((await world.owned.post(`/jobs/${body.job.id}/retry`)).status).toBe(202);
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ package: { slug: "l" }, disk_gb: 160 });
  });

  test.each(["succeeded", "failed"] as const)(
    "that has %s charges no one for more than was requested",
    async (status) => {
      const server = await world.createRunning({ package: "s" });
      await resize(server.id, { package: "m", allow_restart: true });
      await world.agent.end(await world.agent.take("ServerResize"), {
        status,
        ...(status === "failed" ? { error: { code: "region_capacity", message: "No room" } } : {}),
        observed: { power_state: "on", disk_bytes: 640 * 2 ** 30 },
      });
      const recorded = status === "succeeded" ? 80 : 40;
      expect((await world.server(server.id)).disk_gb).toBe(recorded);
      expect((await usageOf(server.id)).some((each: string) => each.endsWith(" 640"))).toBe(false);
    },
  );

  test("that is superseded with a disk larger than requested leaves the record as it is", async () => {
    const server = await world.createRunning({ package: "s" });
    await resize(server.id, { package: "m", allow_restart: true });
    await world.agent.end(await world.agent.take("ServerResize"), {
      status: "retry",
      error: { code: "hypervisor_unavailable", message: "Later" },
      observed: { power_state: "on", disk_bytes: 640 * 2 ** 30 },
    });
    expect((await world.owned.delete(`/servers/${server.id}`)).status).toBe(202);
    expect((await world.server(server.id)).disk_gb).toBe(40);
    await world.agent.work();
  });

  test("that fails, is tried again and fails again counts both", async () => {
    const server = await world.createRunning({ package: "s" });
    const { body } = await resize(server.id, { package: "l", allow_restart: true });
    const fail = async (diskGb: number) =>
      world.agent.end(await world.agent.take("ServerResize"), {
        status: "failed",
        error: { code: "region_capacity", message: "No room" },
        observed: { power_state: "on", disk_bytes: diskGb * 2 ** 30 },
      });
    await fail(80);
    expect((await world.owned.post(`/jobs/${body.job.id}/retry`)).status).toBe(202);
    await fail(120);
    expect((await usageOf(server.id)).slice(2)).toEqual(["server.resized s 1 80", "server.resized s 1 120"]);
  });

  test("that waits for another attempt when the server is deleted leaves the observed state", async () => {
    const server = await world.createRunning({ package: "s" });
    await resize(server.id, { package: "l", allow_restart: true });
    await world.agent.end(await world.agent.take("ServerResize"), {
      status: "retry",
      error: { code: "hypervisor_unavailable", message: "Later" },
      observed: { power_state: "off", disk_bytes: 160 * 2 ** 30 },
    });
    expect((await world.owned.delete(`/servers/${server.id}`)).status).toBe(202);
    expect(await world.server(server.id)).toMatchObject({
      status: "pending_deletion",
      power_state: "off",
      disk_gb: 160,
      deletion: { restores_to: "stopped" },
    });
    expect((await usageOf(server.id)).slice(-3)).toEqual([
      "server.resized s 1 160",
      "server.stopped s 1 160",
      "server.purge_scheduled s 1 160",
    ]);
    const [row] = await world.rows("select resize_package, resize_disk_gb from server where id = $1", [
      server.id,
    ]);
    expect(row).toEqual({ resize_package: null, resize_disk_gb: null });
    await world.agent.work();
  });

  test("that never began when the server is deleted releases its quotas", async () => {
    const server = await world.createRunning({ package: "s" });
    await resize(server.id, { package: "l", allow_restart: true });
    await world.owned.delete(`/servers/${server.id}`);
    const [row] = await world.rows("select resize_package from server where id = $1", [server.id]);
    expect(row).toEqual({ resize_package: null });
    expect(await world.rows("select 1 from region_growth where server_id = $1", [server.id])).toEqual([]);
    await world.agent.work();
  });
});
