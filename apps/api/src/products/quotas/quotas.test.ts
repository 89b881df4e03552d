import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ApiCaller } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { ed25519Line } from "../../testing/ssh-key-lines.ts";
import { sweepRemovalBuffers } from "../../worker/expire-removal-buffer.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open({ removalBufferSeconds: 0 });
});
afterAll(() => world.close());

const limit = async (servers: number | null, organisationId = world.organisation.id) => {
  const answer = await world.world.operator.patch(`/organisations/${organisationId}`, {
    limits: { servers },
  });
  expect([answer.status, answer.body.limits]).toEqual([200, { servers }]);
};

describe("the limit of an organisation's servers", () => {
  test("is set by operators, when it is registered and later, and its members can read it", async () => {
    const made = await world.world.operator.post("/organisations", {
      slug: "small",
      name: "Small",
      limits: { servers: 2 },
    });
    expect([made.status, made.body.limits]).toEqual([201, { servers: 2 }]);
    const owner = await world.world.addToken(made.body.id, "owner");
    expect((await owner.get("/organisation")).body.limits).toEqual({ servers: 2 });
    expect((await owner.patch(`/organisations/${made.body.id}`, { limits: { servers: 9 } })).status).toBe(
      403,
    );
    const renamed = await world.world.operator.patch(`/organisations/${made.body.id}`, { name: "Tiny" });
    expect(renamed.body.limits).toEqual({ servers: 2 });
    expect((await world.world.addOrganisation("free")).id).toBeTruthy();
    expect((await world.owned.get("/organisation")).body.limits).toEqual({ servers: null });
  });

  test("refuses the next create, says how many there are, and a dry run lists it", async () => {
    await world.create();
    await limit(2);
    const last = await world.create();
    const refused = await world.owned.post("/servers", world.body());
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: "quota_exceeded",
        detail: "The organisation has 2 of at most 2 servers; 1 more is asked for",
        precondition: {
          name: "quota_servers",
          resource: world.organisation.id,
          quota: { name: "servers", limit: 2, used: 2, asked: 1 },
        },
      },
    });
    const tried = await world.owned.post("/servers?dry_run=true", world.body());
    expect(tried.body.blockers.map((each: { code: string }) => each.code)).toEqual(["quota_exceeded"]);
    // A deleted server counts until it is destroyed.
    await world.agent.work();
    await world.owned.delete(`/servers/${last.server.id}`);
    expect((await world.owned.post("/servers", world.body())).body.code).toBe("quota_exceeded");
    expect((await world.owned.post(`/servers/${last.server.id}/cancel-deletion`)).status).toBe(202);
    await world.agent.work();
    await limit(3);
    expect((await world.owned.post("/servers?dry_run=true", world.body())).body.blockers).toEqual([]);
    await world.create();
    await limit(1);
    expect((await world.owned.get("/servers")).body.items).toHaveLength(3);
    await limit(null);
    await world.create();
  });

  test("is one organisation's", async () => {
    const other = await world.world.addOrganisation("other");
    await limit(0);
    expect((await other.owner.post("/servers", world.body())).status).toBe(202);
    await limit(0, other.id);
    expect((await other.owner.post("/servers", world.body())).body.code).toBe("quota_exceeded");
  });
});

describe("quotas", () => {
  const set = async (organisationId: string, limits: Record<string, number | null>) => {
    const answer = await world.world.operator.put(`/organisations/${organisationId}/quotas`, { limits });
    expect(answer.status).toBe(200);
    return answer.body.items as { name: string; limit: number | null; used: number; reserved: number }[];
  };
  const read = async (owner: ApiCaller) =>
    Object.fromEntries(
      ((await owner.get("/quotas")).body.items as { name: string; used: number; reserved: number }[]).map(
        ({ name, used, reserved }) => [name, [used, reserved]],
      ),
    );
  const sent = async (owner: ApiCaller, fields: Record<string, unknown> = {}) =>
    owner.post("/servers", world.body(fields));

  test("show limits and use, with their units, to everyone of the organisation", async () => {
    const { id, owner } = await world.world.addOrganisation("shown");
    const { server } = await world.create({ package: "m" }, owner);
    await world.agent.work();
    expect(server.status).toBe("creating");
    await set(id, { vcpu: 8, memory_mb: 16384 });
    const billing = await world.world.addToken(id, "billing");
    expect((await billing.get("/quotas")).body).toEqual({
      items: [
        { name: "servers", limit: null, used: 1, reserved: 0, unit: "count" },
        { name: "vcpu", limit: 8, used: 2, reserved: 0, unit: "count" },
        { name: "memory_mb", limit: 16384, used: 4096, reserved: 0, unit: "MB" },
        { name: "disk_gb", limit: null, used: 80, reserved: 0, unit: "GB" },
        { name: "networks", limit: null, used: 1, reserved: 0, unit: "count" },
        { name: "subnets", limit: null, used: 1, reserved: 0, unit: "count" },
        { name: "ssh_keys", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "public_ips", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "firewalls", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "firewall_rules", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "gateways", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "domains", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "certificates", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "load_balancers", limit: null, used: 0, reserved: 0, unit: "count" },
        { name: "members", limit: null, used: 0, reserved: 0, unit: "count" },
      ],
      next_cursor: null,
    });
  });

  test("are set by operators; fields left out stay, null removes a limit", async () => {
    const { id, owner } = await world.world.addOrganisation("set");
    await set(id, { vcpu: 4, disk_gb: 100, servers: 7 });
    const now = await set(id, { vcpu: null });
    expect(Object.fromEntries(now.map(({ name, limit: most }) => [name, most]))).toMatchObject({
      vcpu: null,
      disk_gb: 100,
      servers: 7,
    });
    // The same limit under its older name.
    expect((await owner.get("/organisation")).body.limits).toEqual({ servers: 7 });
    expect((await owner.put(`/organisations/${id}/quotas`, { limits: { vcpu: 99 } })).status).toBe(403);
    for (const limits of [{}, { vcpu: -1 }, { vcpu: 1.5 }, { cores: 1 }])
      expect((await world.world.operator.put(`/organisations/${id}/quotas`, { limits })).status).toBe(422);
  });

  test.each([
    ["vcpu", 7, { limit: 7, used: 4, asked: 4 }],
    ["memory_mb", 16383, { limit: 16383, used: 8192, asked: 8192 }],
    ["disk_gb", 319, { limit: 319, used: 160, asked: 160 }],
  ])(
    "of %s refuse a server that does not fit, and let one through that does",
    async (name, most, figures) => {
      const { id, owner } = await world.world.addOrganisation(`q-${name.replace("_", "-")}`);
      await world.create({ package: "l" }, owner);
      await set(id, { [name]: most });
      const refused = await sent(owner, { package: "l" });
      expect(refused).toMatchObject({
        status: 409,
        body: {
          code: "quota_exceeded",
          precondition: { name: `quota_${name}`, quota: { name, ...figures } },
        },
      });
      expect(refused.body.precondition.fix).toContain("Ask an operator to raise the limit, or make room");
      expect((await sent(owner, { package: "s" })).status).toBe(202);
      await set(id, { [name]: most + 1_000_000 });
      expect((await sent(owner, { package: "l" })).status).toBe(202);
    },
  );

  test("name everything that is full in a dry run", async () => {
    const { id, owner } = await world.world.addOrganisation("all-full");
    await set(id, { servers: 0, vcpu: 0, memory_mb: 0, disk_gb: 0, networks: 0, subnets: 0 });
    const tried = await owner.post("/servers?dry_run=true", world.body());
    expect(tried.body.blockers.map((each: { name: string }) => each.name)).toEqual([
      "quota_servers",
      "quota_vcpu",
      "quota_memory_mb",
      "quota_disk_gb",
      "quota_networks",
      "quota_subnets",
    ]);
  });

  test("of networks, subnets and SSH keys refuse the next one", async () => {
    const { id, owner } = await world.world.addOrganisation("rest");
    await set(id, { networks: 1, subnets: 1, ssh_keys: 0, public_ips: 0 });
    const made = await owner.post("/networks", { name: "one", region: world.region });
    expect(made.status).toBe(201);
    const subnets = `/networks/${made.body.network.id}/subnets`;
    expect((await owner.post(subnets, { name: "a", tier: "app" })).status).toBe(201);
    const codes = [
      (await owner.post("/networks", { name: "two", region: world.region })).body.precondition.name,
      (await owner.post(subnets, { name: "b", tier: "app" })).body.precondition.name,
      (await owner.post("/ssh-keys", { name: "k", public_key: ed25519Line() })).body.precondition.name,
      (await owner.post("/public-ips", { region: world.region })).body.precondition.name,
    ];
    expect(codes).toEqual(["quota_networks", "quota_subnets", "quota_ssh_keys", "quota_public_ips"]);
    const tried = await owner.post("/servers?dry_run=true", world.body({ public_ip: "auto" }));
    expect(tried.body.blockers.map((each: { name: string }) => each.name)).toContain("quota_public_ips");
  });

  test("count a server in the removal buffer by its disk, and its vCPUs and memory not", async () => {
    const { id, owner } = await world.world.addOrganisation("leaving");
    const { server } = await world.create({ package: "m" }, owner);
    await world.agent.work();
    await set(id, { vcpu: 2, memory_mb: 4096, disk_gb: 160 });
    expect(await read(owner)).toMatchObject({ servers: [1, 0], vcpu: [2, 0], disk_gb: [80, 0] });
    await owner.delete(`/servers/${server.id}`);
    expect(await read(owner)).toMatchObject({
      servers: [1, 1],
      vcpu: [0, 0],
      memory_mb: [0, 0],
      disk_gb: [80, 80],
    });
    await world.agent.work();

    // Another server uses the quota: now the cancel is refused, says so, and names a fix for the customer.
    const second = (await sent(owner, { package: "m" })).body.server;
    await world.agent.work();
    const cancel = `/servers/${server.id}/cancel-deletion`;
    const refused = await owner.post(cancel);
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: "quota_exceeded",
        precondition: { name: "quota_vcpu", quota: { name: "vcpu", limit: 2, used: 2, asked: 2 } },
      },
    });
    expect(refused.body.precondition.fix).toContain("delete another server, which frees its vCPUs at once");
    expect((await owner.get(`/servers/${server.id}`)).body.status).toBe("pending_deletion");
    expect((await owner.post(`${cancel}?dry_run=true`)).body.blockers).toHaveLength(2);
    await owner.delete(`/servers/${second.id}`);
    expect((await owner.post(cancel)).status).toBe(202);
    await world.agent.work();
    expect(await read(owner)).toMatchObject({ servers: [2, 1], vcpu: [2, 0], disk_gb: [160, 80] });
  });

  test("allow a cancel that takes no more than is free, and release everything at the end", async () => {
    const { id, owner } = await world.world.addOrganisation("back");
    const { server } = await world.create({ package: "s" }, owner);
    await world.agent.work();
    await set(id, { servers: 1, vcpu: 1, memory_mb: 2048, disk_gb: 40 });
    await owner.delete(`/servers/${server.id}`);
    expect((await owner.post(`/servers/${server.id}/cancel-deletion`)).status).toBe(202);
    await world.agent.work();
    await owner.delete(`/servers/${server.id}`);
    await world.agent.work();
    await world.passBuffer(server.id);
    await sweepRemovalBuffers(world.world.replica.deps);
    await world.agent.work();
    expect(await read(owner)).toMatchObject({ servers: [0, 0], vcpu: [0, 0], disk_gb: [0, 0] });
  });
});
