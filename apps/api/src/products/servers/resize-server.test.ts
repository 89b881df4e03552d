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
  test("gives a running server another package once the region has read it back", async () => {
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

  test("asks for a restart of a running server, unless only the disk grows", async () => {
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
    // The same package with its disk: nothing that a guest has to be restarted for.
    expect((await resize(server.id, { package: "m" })).status).toBe(202);
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ status: "running", disk_gb: 80 });
    expect((await usageOf(server.id)).slice(-2)).toEqual(["server.resized m 2 40", "server.resized m 2 80"]);
  });

  test("takes nothing along any more when it gives way to the server's removal", async () => {
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

  test("takes what it adds of the quotas at once, and gives nothing back before its end", async () => {
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

  test("keeps Windows its minimum, and knows the plans there are", async () => {
    await world.rows("update region set agent_public_key = $1", [Buffer.alloc(32, 9).toString("base64")]);
    const server = await world.createRunning({ image: "windows-2022", package: "l" });
    const small = await resize(server.id, { package: "m", allow_restart: true, grow_disk: false });
    expect([small.status, small.body.errors[0].code]).toEqual([422, "os_plan_mismatch"]);
    expect((await resize(server.id, { package: "xs" })).body.errors).toMatchObject([
      { field: "package", code: "not_one_of" },
    ]);
  });

  test("that failed leaves the package as it was, says why, and goes on when it is tried again", async () => {
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
      status_reason: { code: "resize_failed", message: "No room", job_id: body.job.id },
    });
    expect((await world.owned.post(`/jobs/${body.job.id}/retry`)).status).toBe(202);
    expect(await world.server(server.id)).toMatchObject({ status: "resizing", status_reason: null });
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ status: "running", package: { slug: "m" } });
  });
});
