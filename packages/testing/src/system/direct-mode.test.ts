import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConsoleViewer } from "../console-viewer.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { viewOfControlServer } from "../world-check/region-invariants.ts";
import { worldCheck } from "../world-check/world-check.ts";

/** A region without an agent, with API, worker and lab only; the worker has the hypervisor's token. */
let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ mode: "direct", leaseSeconds: 3 });
}, 120_000);
afterAll(() => world?.end());

const ended = (job: string) => world.untilDone(job).then(({ status }) => status);
const serverStatus = async (id: string) =>
  (await world.organisation.GET("/servers/{server_id}", { params: { path: { server_id: id } } })).data
    ?.status;
const isKilled = (child: { readonly ended: Promise<unknown> }) => child.ended;

async function remove(id: string): Promise<void> {
  const { data, error } = await world.organisation.DELETE("/servers/{server_id}", {
    params: { path: { server_id: id } },
  });
  if (data === undefined) throw new Error(JSON.stringify(error));
  // The buffer ends at once here, so the destroy may be queued before the stop has begun.
  await expect.poll(() => serverStatus(id), { timeout: 90_000 }).toBeUndefined();
}

describe("a region of mode direct", () => {
  it("reports its health without an agent, and shows none", async () => {
    await expect
      .poll(
        async () =>
          (await world.operator.GET("/regions/{region}", { params: { path: { region: "lab1" } } })).data,
        { timeout: 60_000 },
      )
      .toMatchObject({ mode: "direct", status: "ok", agent: { hypervisor: { reachable: true } } });
    const refused = await world.operator.POST("/regions/{region}/agent-tokens", {
      params: { path: { region: "lab1" } },
      body: { name: "nobody" },
    });
    expect(refused.response.status).toBe(409);
  });

  it("creates a server, stops and starts it, and deletes it", async () => {
    const { server, job } = await world.createServer("direct");
    expect(await ended(job.id)).toBe("succeeded");
    expect(await serverStatus(server.id)).toBe("running");
    for (const [action, status] of [
      ["stop", "stopped"],
      ["start", "running"],
    ] as const) {
      const { data, error } = await world.organisation.POST("/servers/{server_id}/power", {
        params: { path: { server_id: server.id } },
        body: { action },
      });
      if (data === undefined || !("job" in data)) throw new Error(JSON.stringify(error));
      expect(await ended(data.job.id)).toBe("succeeded");
      expect(await serverStatus(server.id)).toBe(status);
    }
    await remove(server.id);
    expect([...world.effects().clones.values()]).toEqual([1]);
    expect([...world.effects().destroys.values()]).toEqual([1]);
  });

  it("has consoles, which the worker opens", async () => {
    const { server, job, console_password } = await world.createServer("direct-console");
    expect(await ended(job.id)).toBe("succeeded");
    const { data: ticket, error } = await world.organisation.POST("/servers/{server_id}/console", {
      params: { path: { server_id: server.id } },
      body: {},
    });
    if (ticket === undefined) throw new Error(JSON.stringify(error));
    const viewer = new ConsoleViewer(ticket, new URL(world.apiUrl).origin, () => world.outputs());
    await viewer.until(() => viewer.bytes.length > 0);
    await viewer.line("", /login: $/);
    await viewer.line("ubuntu", /Password: $/);
    expect(await viewer.line(console_password ?? "", /\$ $/)).toContain("Welcome to Ubuntu 24.04");
    viewer.socket.close();
    await viewer.end();
    await remove(server.id);
  }, 60_000);

  it.each(["ServerCreate.clone.effect-done", "ServerCreate.clone.before-send"])(
    "resumes when the worker is killed at %s",
    async (point) => {
      const before = world.effects().clones.size;
      await world.worker.end("SIGTERM");
      const dying = world.startWorker({ BATTERY_CRASH: point });
      const { server, job } = await world.createServer(`killed-${before}`);
      await isKilled(dying);
      expect(dying.running()).toBe(false);
      world.startWorker();
      expect(await ended(job.id)).toBe("succeeded");
      expect(world.effects().clones.size).toBe(before + 1);
      expect([...world.effects().clones.values()].every((times) => times === 1)).toBe(true);
      await remove(server.id);
    },
  );

  it("does no job twice when two workers work for it", async () => {
    const second = world.startWorker({}, true);
    const before = world.effects().clones.size;
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, index) => world.createServer(`two-${index}`)),
    );
    for (const { job } of made) expect(await ended(job.id)).toBe("succeeded");
    expect(world.effects().clones.size).toBe(before + 6);
    expect([...world.effects().clones.values()].every((times) => times === 1)).toBe(true);
    const regions = [await viewOfControlServer("lab1", world.labControlUrl)];
    expect(await worldCheck({ ownerUrl: world.database.ownerUrl, regions })).toEqual([]);
    expect(second.running()).toBe(true);
  });
});
