import { findViolations } from "@kule/invariants/find-violations";
import { images } from "@kule/rules/catalog/images";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../../testing/api-world.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let other: TestOrganisation;
let database: Client;

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  other = await world.addOrganisation("other");
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await world.close();
});

async function pool(table: "region_vmid" | "region_vlan", region: string) {
  const column = table === "region_vmid" ? "vmid" : "vlan";
  const { rows } = await database.query(
    `select min(${column}) as first, max(${column}) as last, count(*)::int as count from ${table} where region = $1`,
    [region],
  );
  return rows[0];
}

const ranges = { vmid_range: { first: 1000, last: 1099 }, vlan_range: { first: 10, last: 19 } };

describe("registering", () => {
  test("a region has a row for every number it may allocate", async () => {
    const created = await world.operator.post("/regions", {
      slug: "ist1",
      name: "Istanbul 1",
      country: "TR",
      ...ranges,
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      slug: "ist1",
      status: "unreachable",
      agent: null,
      restricted_to: null,
    });
    expect(created.body.jobs).toEqual({ queued: 0, running: 0 });
    expect(await pool("region_vmid", "ist1")).toEqual({ first: 1000, last: 1099, count: 100 });
    expect(await pool("region_vlan", "ist1")).toEqual({ first: 10, last: 19, count: 10 });
    const again = await world.operator.post("/regions", { slug: "ist1", name: "x", ...ranges });
    expect([again.status, again.body.code]).toEqual([409, "name_taken"]);
  });

  test("every wrong range and unknown organisation is named", async () => {
    const answer = await world.operator.post("/regions", {
      slug: "bad",
      name: "",
      vmid_range: { first: 200, last: 100 },
      vlan_range: { first: 9, last: 5000 },
      restricted_to: [acme.id, "org_nobody"],
    });
    expect(answer.status).toBe(422);
    const fields = new Set(answer.body.errors.map((error: { field: string }) => error.field));
    expect([...fields].sort()).toEqual(["name", "restricted_to[1]", "vlan_range.last", "vmid_range.last"]);
    const huge = { ...ranges, vmid_range: { first: 100, last: 999_999_999 } };
    expect((await world.operator.post("/regions", { slug: "huge", name: "x", ...huge })).status).toBe(422);
  });
});

describe("changing", () => {
  test("a range widens, and narrows only to what is not in use", async () => {
    await world.operator.post("/regions", { slug: "wide", name: "Wide", ...ranges });
    const widened = await world.operator.patch("/regions/wide", { vmid_range: { first: 900, last: 1199 } });
    expect(widened.body).toMatchObject({ vmid_range: { first: 900, last: 1199 }, generation: 2 });
    expect(await pool("region_vmid", "wide")).toEqual({ first: 900, last: 1199, count: 300 });

    const here = acme.owner;
    const network = await here.post("/networks", { name: "net", region: "wide" });
    const path = `/networks/${network.body.network.id}/subnets`;
    const subnet = await here.post(path, { name: "app", tier: "app" });
    await database.query(
      `update region_vmid set state = 'tombstone', free_after = now() + interval '1 day'
        where region = 'wide' and vmid = 950`,
    );
    const tooNarrow = await world.operator.patch("/regions/wide", {
      vmid_range: { first: 1000, last: 1199 },
    });
    expect([tooNarrow.status, tooNarrow.body.code]).toEqual([409, "in_use"]);
    const vlans = await world.operator.patch("/regions/wide", { vlan_range: { first: 11, last: 19 } });
    expect(vlans.body.precondition).toMatchObject({ code: "in_use", resource: subnet.body.subnet.id });
    // Refused means unchanged.
    expect(await pool("region_vmid", "wide")).toEqual({ first: 900, last: 1199, count: 300 });
    expect(await pool("region_vlan", "wide")).toEqual({ first: 10, last: 19, count: 10 });

    await here.delete(`${path}/${subnet.body.subnet.id}`);
    await database.query("update region_vmid set free_after = now() where region = 'wide' and vmid = 950");
    const narrowed = await world.operator.patch("/regions/wide", {
      vmid_range: { first: 1000, last: 1010 },
      vlan_range: { first: 11, last: 12 },
    });
    expect(narrowed.status).toBe(200);
    expect(await pool("region_vmid", "wide")).toEqual({ first: 1000, last: 1010, count: 11 });
  });

  test("private VLANs never include a public pool's, whichever is first", async () => {
    const slug = "segments";
    await world.operator.post("/regions", { slug, name: "Segments", ...ranges });
    const pool = (name: string, vlan: number) =>
      world.operator.post("/ip-pools", {
        region: slug,
        name,
        gateway: "100.70.0.1",
        prefix_length: 24,
        vlan,
      });
    const widen = (last: number) =>
      world.operator.patch(`/regions/${slug}`, { vlan_range: { first: 10, last } });
    const made = await pool("uplink", 30);
    expect(made.status).toBe(201);
    const refused = await widen(30);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({
      code: "in_use",
      detail: expect.stringContaining("uplink"),
      precondition: { name: "vlan_range_without_public_pools", resource: made.body.id },
    });
    expect((await widen(29)).status).toBe(200);
    expect((await pool("inside", 29)).status).toBe(422);
    // Of two concurrent changes one is refused, in whatever order they run.
    for (let vlan = 31; vlan < 43; vlan += 1) {
      await world.operator.delete(`/ip-pools/${made.body.id}`);
      const [added, widened] = await Promise.all([pool(`p${vlan}`, vlan), widen(vlan)]);
      expect([added.status, widened.status].sort()).toEqual(added.status === 201 ? [201, 409] : [200, 422]);
      if (added.status === 201) await world.operator.delete(`/ip-pools/${added.body.id}`);
    }
  });

  test("a change of what has changed meanwhile is refused", async () => {
    expect((await world.operator.patch("/regions/wide", { name: "x" }, { "If-Match": '"g1"' })).status).toBe(
      412,
    );
    expect((await world.operator.get("/regions/wide")).headers.get("etag")).toBe('"g3"');
  });

  test("a restricted region is there for those it is restricted to only", async () => {
    await world.operator.post("/regions", {
      slug: "private",
      name: "Private",
      ...ranges,
      restricted_to: [acme.id],
    });
    const seen = async (organisation: TestOrganisation) =>
      (await organisation.owner.get("/catalog")).body.regions.map((region: { slug: string }) => region.slug);
    expect(await seen(acme)).toContain("private");
    expect(await seen(other)).not.toContain("private");
    const foreign = await other.owner.post("/networks", { name: "net", region: "private" });
    const absent = await other.owner.post("/networks", { name: "net", region: "nowhere" });
    expect(foreign.status).toBe(422);
    expect(foreign.body.errors).toEqual(absent.body.errors);
    await world.operator.patch("/regions/private", { restricted_to: null });
    expect(await seen(other)).toContain("private");
  });
});

describe("the catalogue", () => {
  test("has exactly the six packages of the specification", async () => {
    const { body } = await acme.owner.get("/catalog");
    const sizes = body.packages.map(({ regions: _, ...size }: { regions: unknown }) => size);
    expect(sizes).toEqual([
      { slug: "s", vcpu: 1, memory_mb: 2048, disk_gb: 40 },
      { slug: "m", vcpu: 2, memory_mb: 4096, disk_gb: 80 },
      { slug: "l", vcpu: 4, memory_mb: 8192, disk_gb: 160 },
      { slug: "xl", vcpu: 6, memory_mb: 16384, disk_gb: 240 },
      { slug: "xxl", vcpu: 8, memory_mb: 32768, disk_gb: 400 },
      { slug: "xxxl", vcpu: 12, memory_mb: 65536, disk_gb: 640 },
    ]);
  });

  test("offers no Windows on s or m", async () => {
    const { body } = await acme.owner.get("/catalog");
    const windows = body.images.filter((image: { os_family: string }) => image.os_family === "windows");
    expect(windows.length).toBeGreaterThan(0);
    for (const image of windows) expect(image.packages_allowed).toEqual(["l", "xl", "xxl", "xxxl"]);
    expect(body.images).toHaveLength(images.length);
  });

  test("derives a region's health from its agent's last report", async () => {
    const { agent } = await world.addRegion("health");
    const regionIn = async () =>
      (await acme.owner.get("/catalog")).body.regions.find(
        (region: { slug: string }) => region.slug === "health",
      );
    expect(await regionIn()).toMatchObject({ status: "unreachable", status_since: null });
    const report = (debianOk: boolean) => ({
      agent_version: "1.0.0",
      hypervisor: {
        kind: "proxmox",
        reachable: true,
        version: "9.1",
        nodes: [{ name: "pve1", online: true }],
      },
      templates: [
        { image: "ubuntu-24.04", ok: true },
        { image: "debian-12", ok: debianOk, message: debianOk ? null : "no cloud-init drive" },
      ],
    });
    const regionsWith = async (slug: string) =>
      (await acme.owner.get("/catalog")).body.images.find((image: { slug: string }) => image.slug === slug)
        .regions;
    expect((await agent.post("/agent/health", report(true))).status).toBe(200);
    expect(await regionIn()).toMatchObject({ status: "ok" });
    expect(await regionsWith("debian-12")).toContain("health");
    await agent.post("/agent/health", report(false));
    expect(await regionIn()).toMatchObject({ status: "degraded" });
    expect(await regionsWith("debian-12")).not.toContain("health");
    expect(await regionsWith("ubuntu-24.04")).toContain("health");
    expect(await regionsWith("rocky-9")).not.toContain("health");
    await database.query("update region set health_at = now() - interval '61 seconds' where slug = 'health'");
    expect(await regionIn()).toMatchObject({ status: "unreachable", status_since: expect.any(String) });
    await world.operator.patch("/regions/health", { maintenance: true });
    expect(await regionIn()).toMatchObject({ status: "maintenance" });
    const refused = await acme.owner.post("/networks", { name: "net", region: "health" });
    expect([refused.status, refused.body.code]).toEqual([409, "region_unavailable"]);
  });
});

describe("agent tokens", () => {
  test("an agent's token opens its own region's calls and nothing else", async () => {
    const { agent } = await world.addRegion("agents");
    const me = await agent.get("/me");
    expect(me.body).toMatchObject({
      actor: "agent",
      region: "agents",
      permissions: [
        "agent:consoles",
        "agent:health",
        "agent:inventory",
        "agent:jobs",
        "agent:load-balancers",
        "agent:releases",
      ],
    });
    expect((await agent.get("/servers")).status).toBe(403);
    expect((await agent.get("/regions")).status).toBe(403);
    expect((await acme.owner.post("/agent/health", {})).status).toBe(403);
    expect((await world.operator.post("/agent/health", {})).status).toBe(403);
  });

  test("a rotated agent token works on for ten minutes by default, a revoked one not at all", async () => {
    await world.addRegion("rotate");
    const path = "/regions/rotate/agent-tokens";
    const { body: first } = await world.operator.post(path, { name: "first" });
    const second = await world.operator.post(`${path}/${first.token.id}/rotate`);
    expect(second.status).toBe(201);
    const old = new ApiCaller(world.app, first.secret);
    expect((await old.get("/me")).status).toBe(200);
    const listed = await world.operator.get(path);
    const ends = listed.body.items.find((token: { id: string }) => token.id === first.token.id).expires_at;
    expect(Math.round((Date.parse(ends) - Date.now()) / 60_000)).toBe(10);
    expect((await world.operator.delete(`${path}/${second.body.token.id}`)).status).toBe(204);
    expect((await new ApiCaller(world.app, second.body.secret).get("/me")).status).toBe(401);
  });

  test("one region's token is not found under another region", async () => {
    const { body } = await world.operator.post("/regions/rotate/agent-tokens", { name: "here" });
    const elsewhere = `/regions/agents/agent-tokens/${body.token.id}`;
    expect((await world.operator.delete(elsewhere)).status).toBe(404);
    expect((await world.operator.post(`${elsewhere}/rotate`)).status).toBe(404);
    expect((await world.operator.get("/regions/No%20Slug/agent-tokens")).status).toBe(404);
  });
});

describe("a region of mode direct", () => {
  test("stays so, issues no agent tokens, and queues its jobs under a task of their own", async () => {
    const made = await world.operator.post("/regions", {
      slug: "trusted",
      name: "Trusted",
      mode: "direct",
      ...ranges,
    });
    expect([made.status, made.body.mode]).toEqual([201, "direct"]);
    expect((await world.operator.get("/regions/trusted")).body.mode).toBe("direct");
    expect((await world.operator.patch("/regions/trusted", { mode: "agent" })).status).toBe(422);
    expect(await world.operator.post("/regions/trusted/agent-tokens", { name: "a" })).toMatchObject({
      status: 409,
      body: { code: "invalid_state", precondition: { name: "region_has_agent", resource: "trusted" } },
    });
    const body = { name: "direct-1", image: "debian-13", package: "s" };
    const created = await acme.owner.post("/servers", { ...body, region: "trusted" });
    expect(created.status).toBe(202);
    const { rows } = await database.query(
      `select t.identifier from graphile_worker._private_jobs j
         join graphile_worker._private_tasks t on t.id = j.task_id where j.key = $1`,
      [created.body.job.id],
    );
    expect(rows).toEqual([{ identifier: "direct:trusted" }]);
    expect(await findViolations(database)).toEqual([]);
  });
});
