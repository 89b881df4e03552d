import type { Schemas } from "@kule/contract/schemas";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

/** Public addresses from the operator's pool to the guest, with API, worker, agent and lab as processes of their own. */
let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ leaseSeconds: 10, removalBufferSeconds: 1 });
  world.startAgent({ KULE_AGENT_INVENTORY_SECONDS: "1", KULE_AGENT_HEALTH_SECONDS: "1" });
  const region = "lab1";
  const { data: pool } = await world.operator.POST("/ip-pools", {
    body: { region, name: "public", gateway: "203.0.113.1", prefix_length: 24 },
  });
  const path = { ip_pool_id: pool?.id ?? "" };
  await world.operator.POST("/ip-pools/{ip_pool_id}/ranges", {
    params: { path },
    body: { cidr: "203.0.113.0/28" },
  });
  const { data: me } = await world.organisation.GET("/organisation", {});
  const given = await world.operator.POST("/ip-pools/{ip_pool_id}/allocations", {
    params: { path },
    body: { organisation_id: me?.id ?? "", count: 8 },
  });
  expect(given.response.status).toBe(201);
}, 120_000);
afterAll(() => world?.end());

type Guest = { readonly addresses?: Readonly<Record<string, readonly { readonly "ip-address": string }[]>> };

/** The addresses that the guest of a server has configured, as the lab's own guest reports. */
async function inGuest(serverId: string): Promise<string[]> {
  const answer = await fetch(`${world.labControlUrl}/vms`);
  const vms = (await answer.json()) as { config: { description?: string }; guest: Guest }[];
  const vm = vms.find(({ config }) => config.description?.includes(serverId));
  return Object.values(vm?.guest.addresses ?? {}).flatMap((each) => each.map((one) => one["ip-address"]));
}

async function guestAgent(serverId: string, agentless: boolean): Promise<void> {
  const vm = (await world.vms()).find(({ description }) => description.includes(serverId));
  await fetch(`${world.labControlUrl}/guests`, {
    method: "POST",
    body: JSON.stringify({ vmid: vm?.vmid, agentless }),
  });
}

async function newServer(name: string, more: Partial<Schemas["ServerCreate"]> = {}): Promise<string> {
  const { server, job } = await world.createServer(name, undefined, more);
  expect((await world.untilDone(job.id)).status).toBe("succeeded");
  return server.id;
}

async function take(): Promise<Schemas["PublicIp"]> {
  const { data } = await world.organisation.POST("/public-ips", { body: { region: "lab1" } });
  if (data === undefined) throw new Error("no address");
  return data;
}

const ipOf = async (id: string) =>
  (await world.organisation.GET("/public-ips/{public_ip_id}", { params: { path: { public_ip_id: id } } }))
    .data;

async function attach(id: string, serverId: string, force = false): Promise<void> {
  const { data } = await world.organisation.POST("/public-ips/{public_ip_id}/attach", {
    params: { path: { public_ip_id: id } },
    body: { server_id: serverId, force },
  });
  if (data === undefined || !("job" in data)) throw new Error("no job");
  expect((await world.untilDone(data.job.id)).status).toBe("succeeded");
}

it("a server is created with one, and its guest has it", async () => {
  const server = await newServer("made", { public_ip: "auto" });
  const { data } = await world.organisation.GET("/servers/{server_id}", {
    params: { path: { server_id: server } },
  });
  const [own] = data?.public_ips ?? [];
  expect(own).toMatchObject({ status: "attached", requires_reboot: false });
  expect(await inGuest(server)).toContain(own?.address);
}, 60_000);

it("one is attached to a running guest, moved to another, detached, and never on two", async () => {
  const [one, other] = [await newServer("one"), await newServer("other")];
  const { id, address } = await take();
  await attach(id, one);
  expect(await ipOf(id)).toMatchObject({ status: "attached", requires_reboot: false });
  expect(await inGuest(one)).toContain(address);
  await attach(id, other, true);
  expect(await inGuest(one)).not.toContain(address);
  expect(await inGuest(other)).toContain(address);
  const { data } = await world.organisation.POST("/public-ips/{public_ip_id}/detach", {
    params: { path: { public_ip_id: id } },
  });
  if (data === undefined || !("job" in data)) throw new Error("no job");
  await world.untilDone(data.job.id);
  expect(await inGuest(other)).not.toContain(address);
  expect(await ipOf(id)).toMatchObject({ status: "free", attached_to: null });
}, 90_000);

it("without a guest agent it waits for a reboot, and is configured after it", async () => {
  const server = await newServer("mute");
  const { id, address } = await take();
  await guestAgent(server, true);
  await attach(id, server);
  expect(await ipOf(id)).toMatchObject({ status: "attached", requires_reboot: true });
  expect(await inGuest(server)).not.toContain(address);
  const { data } = await world.organisation.POST("/servers/{server_id}/power", {
    params: { path: { server_id: server } },
    body: { action: "reboot" },
  });
  if (data === undefined || !("job" in data)) throw new Error("no job");
  await world.untilDone(data.job.id);
  expect(await inGuest(server)).toContain(address);
  expect(await ipOf(id)).toMatchObject({ requires_reboot: false });
}, 90_000);

it("needs no reboot once the guest was restarted outside of Kule, and a scan has seen it", async () => {
  const server = await newServer("restarted");
  const vmid = (await world.vms()).find(({ description }) => description.includes(server))?.vmid;
  const waits = async (id: string) => (await ipOf(id))?.requires_reboot;
  const until = { timeout: 40_000, interval: 200 };

  // Its agent is away while the address is configured, and back after the guest has restarted itself: the
  // same process continues.
  const one = await take();
  await guestAgent(server, true);
  await attach(one.id, server);
  expect(await waits(one.id)).toBe(true);
  await fetch(`${world.labControlUrl}/world`, {
    method: "POST",
    body: JSON.stringify({ do: "restartGuest", args: [vmid] }),
  });
  await guestAgent(server, false);
  await expect.poll(() => waits(one.id), until).toBe(false);
  expect(await inGuest(server)).toContain(one.address);

  const other = await newServer("cycled");
  const second = await take();
  await guestAgent(other, true);
  await attach(second.id, other);
  expect(await waits(second.id)).toBe(true);
  // It is switched off and on manually at the hypervisor; no agent ever answers.
  const otherVmid = (await world.vms()).find(({ description }) => description.includes(other))?.vmid;
  const cycled = async () => {
    for (const running of [false, true]) {
      const body = JSON.stringify({ do: "setPower", args: [otherVmid, running] });
      await fetch(`${world.labControlUrl}/world`, { method: "POST", body });
    }
    return waits(second.id);
  };
  await expect.poll(cycled, { timeout: 60_000, interval: 5_000 }).toBe(false);
  expect(await inGuest(other)).toContain(second.address);
}, 120_000);

it("is free again when its server is destroyed", async () => {
  const server = await newServer("gone");
  const { id } = await take();
  await attach(id, server);
  await world.organisation.DELETE("/servers/{server_id}", { params: { path: { server_id: server } } });
  await expect.poll(async () => (await ipOf(id))?.status, { timeout: 60_000, interval: 500 }).toBe("free");
}, 90_000);
