import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { viewOfControlServer } from "../world-check/region-invariants.ts";
import { worldCheck } from "../world-check/world-check.ts";

let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ removalBufferSeconds: 0 });
  world.startAgent();
}, 120_000);
afterAll(() => world?.end());

const check = async () =>
  worldCheck({
    ownerUrl: world.database.ownerUrl,
    regions: [await viewOfControlServer("lab1", world.labControlUrl)],
  });
const changeManually = (what: string, ...args: unknown[]) =>
  fetch(`${world.labControlUrl}/world`, { method: "POST", body: JSON.stringify({ do: what, args }) });

describe("the check of an installation where servers were created and deleted", () => {
  it("finds nothing while no promise is broken", async () => {
    const [kept, gone] = [await world.createServer("kept"), await world.createServer("gone")];
    for (const { job } of [kept, gone]) expect((await world.untilDone(job.id)).status).toBe("succeeded");
    expect(await check()).toEqual([]);
    const deleted = await world.organisation.DELETE("/servers/{server_id}", {
      params: { path: { server_id: gone.server.id } },
    });
    expect(deleted.response.status).toBe(202);
    await expect.poll(() => world.effects().destroys.size, { timeout: 60_000 }).toBe(1);
    await expect
      .poll(
        async () =>
          (await world.organisation.GET("/jobs", { params: { query: { status: ["queued", "running"] } } }))
            .data?.items,
        {
          timeout: 60_000,
        },
      )
      .toEqual([]);
    expect(await check()).toEqual([]);
  });

  it("reports on the database what operators see of a running installation", async () => {
    const report = async () =>
      (await world.operator.GET("/operator/invariants", { params: { query: { fresh: true } } })).data;
    expect(await report()).toMatchObject({ stale: false, violations: [] });
    const owner = new pg.Client({ connectionString: world.database.ownerUrl });
    await owner.connect();
    const take = (server: string) =>
      owner.query(`update region_vmid set server_id = ${server}
                    where (region, vmid) in (select region, vmid from region_vmid where state = 'free' order by 1, 2 desc limit 1)`);
    await take("'srv_nobody'");
    const found = await check();
    expect(found).toHaveLength(1);
    expect((await report())?.violations).toEqual(
      found.map((violation) => ({ ...violation, since: expect.any(String) })),
    );
    await take("null");
    expect((await report())?.violations).toEqual([]);
    await owner.end();
  });

  it("finds manual changes", async () => {
    const [vm] = await world.vms();
    if (vm === undefined) throw new Error("there is no VM");
    await changeManually("editConfig", vm.vmid, { net0: "virtio=02:00:00:00:00:01,bridge=vmbr1,tag=4000" });
    expect((await check()).map(({ invariant, check: what }) => `${invariant} ${what}`)).toEqual([
      "I3 the VM has the server's MAC",
      "I3 the VM is in its subnet's VLAN",
    ]);
    await changeManually("deleteVm", vm.vmid);
    expect((await check()).map(({ invariant, check: what }) => `${invariant} ${what}`)).toEqual([
      "I3 a server that is there has a VM",
    ]);
  });
});
