import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { OwnerOfServers } from "../../testing/managed-servers.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { TestScanner } from "../../testing/test-scanner.ts";
import { serverHooks } from "../server-hooks.ts";
import {
  createManagedServer,
  deleteManagedServer,
  renameOwnerOfServers,
  resizeManagedServer,
} from "./index.ts";

let world: ServerWorld;
let balancer: OwnerOfServers;
beforeAll(async () => {
  world = await ServerWorld.open({ removalBufferSeconds: 3600 });
});
beforeEach(() => {
  balancer = new OwnerOfServers(world);
});
afterAll(() => world?.close());

const limit = (limits: object) =>
  world.world.operator.put(`/organisations/${world.organisation.id}/quotas`, { limits });
const used = async () =>
  Object.fromEntries(
    ((await world.owned.get("/quotas")).body.items as { name: string; used: number }[]).map((quota) => [
      quota.name,
      quota.used,
    ]),
  );
const ids = async (query = "") =>
  ((await world.owned.get(`/servers${query}`)).body.items as { id: string }[]).map(({ id }) => id);

describe("a server that belongs to a load balancer or a cluster", { timeout: 60_000 }, () => {
  test("is allocated, created, resized and destroyed as any other, by its owner", async () => {
    const id = await balancer.create({ labels: { role: "front" } });
    expect(await world.server(id)).toMatchObject({
      status: "creating",
      managed_by: balancer.owner,
      interfaces: [{ primary: true }],
    });
    const { payload } = await world.agent.take("ServerCreate");
    // Nobody signs in: there is no key and no password.
    expect(payload).toMatchObject({ server: { id }, ssh_public_keys: [], password_hash: null });
    await world.passLease((await world.server(id)).job_id);
    await world.agent.work();
    expect(await world.server(id)).toMatchObject({ status: "running", job_id: null });
    const job = await balancer.change((by, tx) =>
      resizeManagedServer(by, tx, id, { package: "m", allow_restart: true }),
    );
    expect([job.kind, (await world.server(id)).status]).toEqual(["ServerResize", "resizing"]);
    await world.agent.work();
    expect((await world.server(id)).package.slug).toBe("m");
    await balancer.change((by, tx) => deleteManagedServer(by, tx, id, { purge: false }));
    expect((await world.server(id)).status).toBe("pending_deletion");
    await world.agent.work();
    await balancer.change((by, tx) => deleteManagedServer(by, tx, id, { purge: true }));
    await world.agent.work();
    expect((await world.owned.get(`/servers/${id}`)).status).toBe(404);
    expect(await world.violations()).toEqual([]);
  });

  test("is in the trail of what was done, with its owner", async () => {
    const id = await balancer.createRunning({ name: "front-1" });
    await balancer.change((by, tx) => deleteManagedServer(by, tx, id, { purge: true }));
    const { items } = (await world.owned.get(`/audit?resource=${id}`)).body;
    const own = items.filter(({ action }: { action: string }) => action.startsWith("server."));
    expect(own).toMatchObject([
      {
        action: "server.delete",
        actor: { type: "user", name: "Ada" },
        details: { purge: true, managed_by: balancer.owner },
      },
      {
        action: "server.create",
        outcome: "succeeded",
        details: { name: "front-1", package: "s", managed_by: balancer.owner },
      },
    ]);
    await world.agent.work();
  });

  test("of two changes in one transaction that fails, neither remains", async () => {
    const before = await ids("?managed=true");
    const attempt = balancer.change(async (by, tx) => {
      const body = { name: "half-1", region: world.region, image: "debian-13", package: "s" };
      await createManagedServer(by, tx, body, serverHooks);
      await createManagedServer(by, tx, body, serverHooks);
    });
    await expect(attempt).rejects.toMatchObject({ precondition: { code: "name_taken" } });
    await expect(balancer.create({ subnet_id: "sub_none" })).rejects.toMatchObject({
      errors: [{ pointer: "/subnet_id", code: "not_found" }],
    });
    expect(await ids("?managed=true")).toEqual(before);
    expect(await world.violations()).toEqual([]);
  });

  test("is not another owner's, and a lock of the operators stops the owner too", async () => {
    const other = new OwnerOfServers(world, "cluster", "prod");
    const id = await balancer.createRunning();
    const own = await world.createRunning();
    for (const foreign of [id, own.id])
      await expect(
        other.change((by, tx) => deleteManagedServer(by, tx, foreign, { purge: false })),
      ).rejects.toThrow(`${foreign} is no server of ${other.owner.id}`);
    const operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
    await operator.post(`/servers/${id}/lock`, { reason: "abuse" });
    await expect(
      balancer.change((by, tx) => deleteManagedServer(by, tx, id, { purge: false })),
    ).rejects.toMatchObject({ precondition: { code: "locked" } });
    expect((await world.owned.delete(`/servers/${id}`)).body.code).toBe("managed");
    await operator.post(`/servers/${id}/unlock`);
  });

  test("is listed with managed=true only, and then alone", async () => {
    const id = await balancer.createRunning({ name: "listed-1", labels: { role: "listed" } });
    const own = (await world.createRunning({ name: "listed-2", labels: { role: "listed" } })).id;
    for (const filter of [
      "",
      "&status=running",
      "&name=listed-1",
      "&label_selector=role=listed",
      "&q=listed",
    ])
      for (const sort of ["", "&sort=name", "&sort=region"]) {
        expect(await ids(`?managed=true${filter}${sort}`)).toContain(id);
        expect(await ids(`?managed=true${filter}${sort}`)).not.toContain(own);
        expect(await ids(`?managed=false${filter}${sort}`)).not.toContain(id);
        expect(await ids(`?limit=50${filter}${sort}`)).not.toContain(id);
      }
    expect(await ids("?name=listed-2")).toEqual([own]);
    expect((await world.owned.get("/servers?managed=maybe")).status).toBe(422);
    // Names are unique among all: two machines of a region do not share a hostname.
    const taken = await world.owned.post("/servers", world.body({ name: "listed-1" }));
    expect(taken.body.precondition).toMatchObject({ name: "server_name_free", resource: id });
  });

  test("has its owner's name, also after that was changed", async () => {
    const id = await balancer.createRunning();
    await balancer.change((by, tx) =>
      renameOwnerOfServers(tx, by.organisationId, { ...by.owner, name: "edge" }),
    );
    expect((await world.server(id)).managed_by).toEqual({ ...balancer.owner, name: "edge" });
    const { body } = await world.owned.delete(`/servers/${id}`);
    expect(body.detail).toContain("cluster edge");
  });

  test("counts with its CPUs, memory and disk in quotas, and not as one of the servers", async () => {
    const before = await used();
    const id = await balancer.createRunning({ package: "m" });
    const now = await used();
    expect(now).toMatchObject({
      servers: before.servers,
      vcpu: (before.vcpu ?? 0) + 2,
      memory_mb: (before.memory_mb ?? 0) + 4096,
      disk_gb: (before.disk_gb ?? 0) + 80,
    });
    await limit({ servers: before.servers });
    const more = await balancer.create({ package: "s" });
    await limit({ servers: null, vcpu: (await used()).vcpu });
    await expect(balancer.create()).rejects.toMatchObject({
      precondition: { name: "quota_vcpu", quota: { asked: 1 } },
    });
    await limit({ vcpu: null });
    await world.agent.work();
    for (const server of [id, more]) {
      await balancer.change((by, tx) => deleteManagedServer(by, tx, server, { purge: true }));
      await world.agent.work();
    }
    expect(await used()).toEqual(before);
    expect(await world.violations()).toEqual([]);
  });

  test("is used by its owner: events and segments name it, and sums are under it", async () => {
    const id = await balancer.createRunning({ name: "counted-1" });
    const second = await balancer.createRunning({ name: "counted-2" });
    const events = (await world.owned.get(`/usage?resource=${id}`)).body.items;
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual(["disk.allocated", "server.started"]);
    for (const event of events) expect(event.managed_by).toEqual(balancer.owner);
    const ofOwner = (await world.owned.get(`/usage/segments?resource=${balancer.owner.id}`)).body.items;
    expect(new Set(ofOwner.map(({ resource }: { resource: { id: string } }) => resource.id))).toEqual(
      new Set([id, second]),
    );
    expect((await world.owned.get(`/usage?resource=${balancer.owner.id}`)).body.items).toHaveLength(4);
    const own = await world.createRunning();
    expect((await world.owned.get(`/usage?resource=${own.id}`)).body.items[0].managed_by).toBeNull();
    const sums = (await world.owned.get("/usage/summary?limit=200")).body.items as { group: string }[];
    expect(sums.find(({ group }) => group === balancer.owner.id)).toMatchObject({
      name: "front",
      type: "cluster",
    });
    expect(sums.map(({ group }) => group)).not.toContain(id);
    const csv = (await world.owned.get(`/usage/export.csv?resource=${balancer.owner.id}`)).body as string;
    expect(csv.split("\r\n")[0]).toMatch(/labels,managed_by_type,managed_by_id,managed_by_name$/);
    expect(csv).toContain(`cluster,${balancer.owner.id},front`);
    const [segment] = ofOwner;
    await world.world.operator.post(`/organisations/${world.organisation.id}/usage-corrections`, {
      segment: segment.id,
      quantity: segment.kind === "disk" ? { disk_gb: 30 } : { vcpu: 1 },
      reason: "counted wrongly",
    });
    const corrected = (await world.owned.get(`/usage?resource=${balancer.owner.id}`)).body.items.at(-1);
    expect(corrected).toMatchObject({ kind: "usage.corrected", managed_by: balancer.owner });
  });

  test("is meant by a firewall of its subnet, and by no selector of labels", async () => {
    const ssh = { protocol: "tcp", ports: ["22"] };
    const id = await balancer.createRunning({ labels: { role: "front" } });
    const own = await world.createRunning({ labels: { role: "front" } });
    const subnet = own.interfaces[0].subnet_id;
    const byLabel = await world.newFirewall();
    for (const label_selector of ["role=front", "!nothing", "role!=web"]) {
      await world.owned.post(`/firewalls/${byLabel.id}/attachments`, { label_selector });
      const done = await world.agent.work();
      expect(done.map(({ payload }) => payload.server.id)).not.toContain(id);
    }
    const attached = (await world.owned.get(`/firewalls/${byLabel.id}`)).body.attachments;
    expect(attached[0].servers).toBe(1);
    expect((await world.server(own.id)).firewall_ids).toEqual([]);
    const peers = await world.newFirewall([{ ...ssh, peers: [{ label_selector: "role=front" }] }]);
    await world.owned.post(`/firewalls/${peers.id}/attachments`, { server_id: own.id });
    await world.owned.post(`/firewalls/${peers.id}/attachments`, { subnet_id: subnet });
    const told = await world.agent.work();
    const address = async (server: string) => (await world.server(server)).interfaces[0].private_ip;
    const filters = told
      .filter(({ payload }) => payload.server.id === id)
      .map(({ payload }) => JSON.stringify((payload as { filter?: unknown }).filter));
    expect(filters.at(-1)).toContain(await address(own.id));
    expect(filters.at(-1)).not.toContain(await address(id));
    expect(await world.violations()).toEqual([]);
  });

  test("takes capacity of its node", async () => {
    const gib = 2 ** 30;
    const scanner = new TestScanner(world.agent.api);
    await world.rows("update server set created_at = created_at - interval '1 hour'");
    const node = {
      name: "pve1",
      online: true,
      cpus: 64,
      memory_bytes: 512 * gib,
      memory_used_bytes: gib,
      others_memory_bytes: 0,
      others_vcpu: 0,
    };
    const storages = [{ name: "ceph", node: null, total_bytes: 100_000 * gib, used_bytes: 0 }];
    await scanner.look([], { nodes: [node], storages, images: [] });
    const fits = async () =>
      (await world.owned.post("/catalog/check", { region: world.region, image: "debian-13", package: "m" }))
        .body.fits;
    const before = await fits();
    await balancer.create({ package: "m" });
    expect(await fits()).toBe(before - 1);
  });
});
