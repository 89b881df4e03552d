// The removal buffer with API, worker, agent and lab as processes of their own.

import type { ApiClient } from "@kule/contract/client";
import { createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { readJournal } from "@kule/lab/journal";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestProcess } from "../child-process.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

const bufferSeconds = 6;
const until = { timeout: 60_000, interval: 100 };

let world: RegionWorld;
let agent: TestProcess;
beforeAll(async () => {
  world = await startRegionWorld({ removalBufferSeconds: 3600 });
  agent = world.startAgent();
}, 180_000);
afterAll(() => world?.end());

const find = (id: string) =>
  world.organisation.GET("/servers/{server_id}", { params: { path: { server_id: id } } });
const now = async (id: string) => (await find(id)).data;

async function done(answer: { data?: unknown; error?: unknown }): Promise<Schemas["Job"]> {
  const { job } = (answer.data ?? {}) as { job?: { id: string } };
  if (job === undefined) throw new Error(JSON.stringify(answer.error));
  const ended = await world.untilDone(job.id);
  expect(ended.status, JSON.stringify(ended.error)).toBe("succeeded");
  return ended;
}

const remove = (id: string, client: ApiClient = world.organisation, purge = false) =>
  client.DELETE("/servers/{server_id}", { params: { path: { server_id: id }, query: { purge } } });
const takeBack = (id: string) =>
  world.organisation.POST("/servers/{server_id}/cancel-deletion", { params: { path: { server_id: id } } });

async function newServer(name: string, start = true): Promise<{ id: string; vmid: number }> {
  const created = await world.createServer(name, undefined, { start });
  await done({ data: created });
  const { id } = created.server;
  const vm = (await world.vms()).find(({ description }) => description.includes(`srv=${id} `));
  return { id, vmid: vm?.vmid ?? 0 };
}

const isOn = async (vmid: number) => (await world.vms()).find((vm) => vm.vmid === vmid)?.running;
/** When the region destroyed a VM, by the lab's own book. */
const destroyedAt = (vmid: number) =>
  readJournal(world.labDirectory)
    .filter((entry) => entry.op === "vm-destroyed" && entry.vmid === vmid)
    .map(({ at }) => at);

async function tokenOf(role: Schemas["Role"]): Promise<ApiClient> {
  const { data } = await world.organisation.POST("/tokens", { body: { name: role, role } });
  return createApiClient({ baseUrl: world.apiUrl, token: data?.secret ?? "", readRetries: 0 });
}

it("cancelling restores the power that each server had", { timeout: 120_000 }, async () => {
  const [ran, off] = await Promise.all([newServer("ran"), newServer("was-off", false)]);
  await Promise.all([ran, off].map(async ({ id }) => done(await remove(id))));
  expect(await now(ran.id)).toMatchObject({
    status: "pending_deletion",
    deletion: { restores_to: "running" },
  });
  expect(await now(off.id)).toMatchObject({
    status: "pending_deletion",
    deletion: { restores_to: "stopped" },
  });
  expect([await isOn(ran.vmid), await isOn(off.vmid)]).toEqual([false, false]);
  await Promise.all([ran, off].map(async ({ id }) => done(await takeBack(id))));
  expect(await now(ran.id)).toMatchObject({ status: "running", deletion: null });
  expect(await now(off.id)).toMatchObject({ status: "stopped", deletion: null });
  expect([await isOn(ran.vmid), await isOn(off.vmid)]).toEqual([true, false]);
});

it("an admin purges running servers and those in the buffer; a member and a protected server do not", {
  timeout: 120_000,
}, async () => {
  const [member, admin] = await Promise.all([tokenOf("member"), tokenOf("admin")]);
  const [runs, waits] = await Promise.all([newServer("runs"), newServer("waits")]);
  await done(await remove(waits.id, member));
  for (const { id } of [runs, waits]) expect((await remove(id, member, true)).response.status).toBe(403);
  const protect = (protection: Schemas["ServerProtectionChange"]) =>
    admin.PATCH("/servers/{server_id}", { params: { path: { server_id: runs.id } }, body: { protection } });
  await protect({ delete: true });
  expect((await remove(runs.id, admin, true)).error).toMatchObject({ code: "protected" });
  await protect({ delete: false });
  expect([destroyedAt(runs.vmid), destroyedAt(waits.vmid)]).toEqual([[], []]);
  await Promise.all([runs, waits].map(async ({ id }) => done(await remove(id, admin, true))));
  for (const { id, vmid } of [runs, waits]) {
    expect((await find(id)).response.status).toBe(404);
    expect(destroyedAt(vmid)).toHaveLength(1);
  }
});

it("the buffer's end destroys once and never before its time, also when the region is down over it", {
  timeout: 180_000,
}, async () => {
  const names = ["present", "away", "taken-back"];
  const made = await Promise.all(names.map((name) => newServer(name)));
  const [present, away, kept] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
  await world.api.end("SIGKILL");
  await world.startApi({ KULE_REMOVAL_BUFFER_SECONDS: String(bufferSeconds) });
  const purgeAt = async (id: string) => Date.parse((await now(id))?.deletion?.purge_at ?? "");

  await done(await remove(present.id));
  const presentUntil = await purgeAt(present.id);
  await expect.poll(() => destroyedAt(present.vmid).length, until).toBe(1);
  expect(destroyedAt(present.vmid)[0]).toBeGreaterThanOrEqual(presentUntil);

  await Promise.all([done(await remove(away.id)), done(await remove(kept.id))]);
  const awayUntil = await purgeAt(away.id);
  await agent.end("SIGKILL");
  expect((await takeBack(kept.id)).response.status).toBe(202);
  await expect.poll(async () => (await now(away.id))?.status, until).toBe("deleting");
  expect((await takeBack(away.id)).response.status).toBe(409);
  expect((await world.vms()).some(({ vmid }) => vmid === away.vmid)).toBe(true);

  agent = world.startAgent();
  await expect.poll(async () => (await find(away.id)).response.status, until).toBe(404);
  await expect.poll(async () => (await now(kept.id))?.status, until).toBe("running");
  const [first = 0, ...more] = destroyedAt(away.vmid);
  expect(first).toBeGreaterThanOrEqual(awayUntil);
  expect(more).toEqual([]);
  expect(destroyedAt(present.vmid)).toHaveLength(1);
  expect(destroyedAt(kept.vmid)).toEqual([]);
  expect(await isOn(kept.vmid)).toBe(true);
});
