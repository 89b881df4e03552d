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

const power = (id: string, body: object, query = "") =>
  world.owned.post(`/servers/${id}/power${query}`, body);
const usageOf = async (id: string) =>
  (await world.owned.get(`/usage?resource=${id}`)).body.items.map((event: { kind: string }) => event.kind);

describe("POST /servers/{id}/power", () => {
  test("moves a server through its statuses, and counts when it runs", async () => {
    const server = await world.createRunning();
    const cases = [
      ["shutdown", "stopping", "stopped", "off"],
      ["start", "starting", "running", "on"],
      ["reboot", "rebooting", "running", "on"],
      ["reset", "rebooting", "running", "on"],
      ["stop", "stopping", "stopped", "off"],
    ] as const;
    for (const [action, through, to, state] of cases) {
      const answer = await power(server.id, { action });
      expect(answer.status).toBe(202);
      expect(answer.body.server).toMatchObject({ status: through, job_id: answer.body.job.id });
      expect(answer.body.job).toMatchObject({
        kind: "ServerPower",
        action,
        status: "queued",
        cancellable: true,
      });
      const job = await world.agent.take("ServerPower");
      expect(job.payload).toMatchObject({ action, timeout_seconds: 60, force_after: false });
      await world.agent.succeed(job, state);
      const after = await world.server(server.id);
      expect(after).toMatchObject({ status: to, power_state: state, status_reason: null });
      expect(after.observed_generation).toBe(after.generation);
    }
    expect(await usageOf(server.id)).toEqual([
      "disk.allocated",
      "server.started",
      "server.stopped",
      "server.started",
      "server.stopped",
    ]);
  });

  test("refuses what the server's actions say is not possible now, and a dry run says the same", async () => {
    const server = await world.createRunning();
    const start = await power(server.id, { action: "start" });
    expect([start.status, start.body.code, start.body.current_status]).toEqual([
      409,
      "invalid_state",
      "running",
    ]);
    const dry = await power(server.id, { action: "start" }, "?dry_run=true");
    expect(dry.body).toMatchObject({ would: null, blockers: [{ code: "invalid_state" }] });
    const would = await power(server.id, { action: "stop" }, "?dry_run=true");
    expect(would.body.would).toMatchObject({ job_kind: "ServerPower", server: { status: "stopping" } });
    expect((await world.server(server.id)).status).toBe("running");

    await power(server.id, { action: "reboot" });
    for (const action of ["reboot", "reset", "shutdown", "start"])
      expect((await power(server.id, { action })).body.code).toBe("invalid_state");
    const { actions } = await world.server(server.id);
    expect(actions).toMatchObject({
      stop: { allowed: true },
      reboot: { allowed: false, code: "invalid_state" },
      resize: { allowed: false, code: "invalid_state" },
    });
  });

  test("has no other action, and no force_after for actions without the guest", async () => {
    const server = await world.createRunning();
    const wrong = await power(server.id, { action: "explode", timeout_seconds: 1 });
    expect(wrong.body.errors.map((error: { field: string }) => error.field).sort()).toEqual([
      "action",
      "timeout_seconds",
    ]);
    const senseless = await power(server.id, { action: "stop", force_after: true });
    expect(senseless.body.errors).toMatchObject([{ field: "force_after", code: "conflicts_with" }]);
  });

  test("powers off at once a server whose guest is still shutting down", async () => {
    const server = await world.createRunning();
    await power(server.id, { action: "shutdown", timeout_seconds: 600 });
    const asked = await world.agent.take("ServerPower");
    const stop = await power(server.id, { action: "stop" });
    expect(stop.status).toBe(202);
    expect((await world.agent.report(asked, { phase: "apply" })).body.cancel_requested).toBe(true);
    await world.agent.end(asked, { status: "cancelled" });
    expect((await world.server(server.id)).status).toBe("stopping");
    const stopping = await world.agent.take("ServerPower");
    expect(stopping.payload.action).toBe("stop");
    await world.agent.succeed(stopping, "off");
    expect(await world.server(server.id)).toMatchObject({ status: "stopped", power_state: "off" });
  });

  test("leaves a server in its last observed state when the job fails", async () => {
    const server = await world.createRunning();
    await power(server.id, { action: "shutdown" });
    await world.agent.fail(await world.agent.take("ServerPower"), "guest_ignored");
    expect(await world.server(server.id)).toMatchObject({
      status: "running",
      power_state: "on",
      status_reason: { code: "power_failed", message: expect.stringContaining("did not shut down") },
    });
    // The next action clears the reason.
    const again = await power(server.id, { action: "reboot" });
    expect(again.body.server.status_reason).toBeNull();
    await world.agent.end(await world.agent.take("ServerPower"), {
      status: "failed",
      error: { code: "region_capacity", message: "No room", retryable: false },
      observed: { power_state: "off" },
    });
    expect(await world.server(server.id)).toMatchObject({ status: "stopped", power_state: "off" });
    expect((await usageOf(server.id)).at(-1)).toBe("server.stopped");
  });

  test("can be cancelled as long as it waits", async () => {
    const server = await world.createRunning();
    const { body } = await power(server.id, { action: "stop" });
    expect((await world.owned.post(`/jobs/${body.job.id}/cancel`)).status).toBe(202);
    expect(await world.server(server.id)).toMatchObject({
      status: "running",
      job_id: null,
      status_reason: null,
    });
    await power(server.id, { action: "stop" });
    const held = await world.agent.take("ServerPower");
    expect((await world.owned.post(`/jobs/${held.id}/cancel`)).body.code).toBe("invalid_state");
  });

  test("is superseded by a delete, and is not possible while it is deleted", async () => {
    const server = await world.createRunning();
    await power(server.id, { action: "reboot" });
    const deleted = await world.owned.delete(`/servers/${server.id}`);
    expect(deleted.body.server.deletion.restores_to).toBe("running");
    expect((await power(server.id, { action: "start" })).body).toMatchObject({
      code: "resource_deleting",
      precondition: { fix: `POST /servers/${server.id}/cancel-deletion` },
    });
    await world.agent.work();
    expect(await world.server(server.id)).toMatchObject({ status: "pending_deletion", power_state: "off" });
  });

  test("replays an answer under its key, and checks If-Match", async () => {
    const server = await world.createRunning();
    const key = { "Idempotency-Key": `power-${server.id}` };
    const first = await world.owned.with(key).post(`/servers/${server.id}/power`, { action: "stop" });
    const again = await world.owned.with(key).post(`/servers/${server.id}/power`, { action: "stop" });
    expect(again.body.job.id).toBe(first.body.job.id);
    await world.agent.work();
    const stale = await world.owned.with({ "If-Match": '"g1"' }).post(`/servers/${server.id}/power`, {
      action: "start",
    });
    expect(stale.status).toBe(412);
  });
});
