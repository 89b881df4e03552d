import { makeSealingKeyPair, openSecret } from "@kule/sealed-secret/sealed-secret";
import { verify } from "unixcrypt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

const publicKey =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

const fields = (answer: { body: { errors: { field: string; code: string }[] } }) =>
  answer.body.errors.map((error) => `${error.field} ${error.code}`).sort();

describe("POST /servers", () => {
  test("answers 202 with the server, its job, and where to follow it", async () => {
    const answer = await world.owned.post("/servers", world.body({ name: "web-1", package: "m" }));
    expect(answer.status).toBe(202);
    const { server, job } = answer.body;
    expect(server).toMatchObject({
      name: "web-1",
      hostname: "web-1",
      status: "creating",
      region: "ist1",
      image: { slug: "debian-13", os_family: "linux" },
      package: { slug: "m", vcpu: 2, memory_mb: 4096, disk_gb: 80 },
      job_id: job.id,
      generation: 1,
      observed_generation: 0,
      observed_at: null,
      console: { types: ["serial"] },
    });
    expect(server.interfaces).toMatchObject([{ primary: true, mac: expect.stringMatching(/^0a:/) }]);
    expect(job).toMatchObject({
      kind: "ServerCreate",
      status: "queued",
      done: false,
      resource: { type: "server", id: server.id },
    });
    expect(answer.headers.get("Location")).toBe(`/api/v1/servers/${server.id}`);
    expect(answer.headers.get("Link")).toBe(`</api/v1/jobs/${job.id}>; rel="monitor"`);
  });

  test("writes the job, its queue entry and every allocation, or nothing at all", async () => {
    const { server, job } = await world.create();
    const [found] = await world.rows(
      `select (select count(*)::int from graphile_worker._private_jobs where key = $2) as queued,
              (select count(*)::int from region_vmid where server_id = $1 and state = 'used') as vmids,
              (select count(*)::int from address a join nic n on n.id = a.nic_id where n.server_id = $1) as addresses,
              (select count(*)::int from audit where resource = $1 and action = 'server.create') as audits`,
      [server.id, job.id],
    );
    expect(found).toEqual({ queued: 1, vmids: 1, addresses: 1, audits: 1 });
  });

  test("creates the network default with the subnet app for an organisation that has none", async () => {
    const fresh = await world.world.addOrganisation("fresh");
    const first = await fresh.owner.post("/servers", world.body());
    expect(first.body.created).toMatchObject({
      network: { name: "default", is_default: true, region: "ist1" },
      subnet: { name: "app", tier: "app" },
    });
    expect(first.body.server.interfaces[0].subnet_id).toBe(first.body.created.subnet.id);
    const second = await fresh.owner.post("/servers", world.body());
    expect(second.status).toBe(202);
    expect(second.body.created).toBeUndefined();
    expect(second.body.server.interfaces[0].subnet_id).toBe(first.body.created.subnet.id);
  });

  test("requires the subnet when there are several and none is the default", async () => {
    const many = await world.world.addOrganisation("many");
    const network = (await many.owner.post("/networks", { name: "shop", region: "ist1" })).body.network;
    const empty = await many.owner.post("/servers", world.body());
    expect([empty.status, fields(empty)]).toEqual([422, ["subnet_id required"]]);
    const one = (await many.owner.post(`/networks/${network.id}/subnets`, { name: "a", tier: "app" })).body;
    const only = await many.owner.post("/servers", world.body());
    expect(only.body.server.interfaces[0].subnet_id).toBe(one.subnet.id);
    const two = (await many.owner.post(`/networks/${network.id}/subnets`, { name: "b", tier: "data" })).body;
    const unclear = await many.owner.post("/servers", world.body());
    expect([unclear.status, fields(unclear)]).toEqual([422, ["subnet_id required"]]);
    const named = await many.owner.post("/servers", world.body({ subnet_id: two.subnet.id }));
    expect(named.body.server.interfaces[0].subnet_id).toBe(two.subnet.id);
  });

  test("gets the lowest free address, or the requested one", async () => {
    const owner = (await world.world.addOrganisation("addresses")).owner;
    const first = (await owner.post("/servers", world.body())).body;
    const prefix = first.created.subnet.cidr.replace(/\.0\/\d+$/, "");
    expect(first.server.interfaces[0].private_ip).toBe(`${prefix}.2`);
    const asked = await owner.post("/servers", world.body({ private_ip: `${prefix}.3` }));
    expect(asked.body.server.interfaces[0].private_ip).toBe(`${prefix}.3`);
    const next = await owner.post("/servers", world.body());
    expect(next.body.server.interfaces[0].private_ip).toBe(`${prefix}.4`);

    const taken = await owner.post("/servers", world.body({ private_ip: `${prefix}.3` }));
    expect([taken.status, taken.body.code]).toEqual([409, "address_in_use"]);
    expect(taken.body.precondition.resource).toBe(asked.body.server.id);
    const gateway = await owner.post("/servers", world.body({ private_ip: `${prefix}.1` }));
    expect([gateway.status, fields(gateway)]).toEqual([422, ["private_ip out_of_range"]]);
    const outside = await owner.post("/servers", world.body({ private_ip: "192.168.77.4" }));
    expect([outside.status, fields(outside)]).toEqual([422, ["private_ip out_of_range"]]);
  });

  test("may leave the region out while there is one, and must not when there are two", async () => {
    const { region: _region, ...body } = world.body();
    expect((await world.owned.post("/servers", body)).status).toBe(202);
    await world.world.addRegion("ank1");
    const { region: _other, ...again } = world.body();
    const refused = await world.owned.post("/servers", again);
    expect([refused.status, fields(refused)]).toEqual([422, ["region required"]]);
    const restricted = await world.world.addOrganisation("narrow");
    await world.world.operator.patch("/regions/ank1", { restricted_to: [world.organisation.id] });
    const { region: _third, ...narrow } = world.body();
    expect((await restricted.owner.post("/servers", narrow)).status).toBe(202);
    const hidden = await restricted.owner.post("/servers", world.body({ region: "ank1" }));
    const unknown = await restricted.owner.post("/servers", world.body({ region: "nowhere" }));
    expect([hidden.status, hidden.body.errors]).toEqual([422, unknown.body.errors]);
  });
});

describe("what is wrong with a request", () => {
  test("is listed field by field, all at once", async () => {
    const answer = await world.owned.post("/servers", {
      name: "Web_1",
      region: "nowhere",
      image: "templeos",
      package: "huge",
      ssh_key_ids: ["key_06ex2v3m8n4k6q1r5s7t9w0y2z", "nonsense"],
      labels: { "bad key!": "x" },
      colour: "red",
    });
    expect(answer.status).toBe(422);
    expect(fields(answer)).toEqual([
      "colour unknown_field",
      "image not_one_of",
      "labels.bad key! invalid_format",
      "name invalid_format",
      "package not_one_of",
      "region not_one_of",
      "ssh_key_ids[0] not_found",
      "ssh_key_ids[1] not_found",
    ]);
  });

  test("names the missing fields", async () => {
    expect(fields(await world.owned.post("/servers", { region: "ist1" }))).toEqual([
      "image required",
      "name required",
      "package required",
    ]);
  });

  test.each(["on", "null", "123", "1e3", "2026-11-21"])(
    "includes the name %s, which YAML misreads",
    async (name) => {
      const answer = await world.owned.post("/servers", world.body({ name }));
      expect([answer.status, fields(answer)]).toEqual([422, ["name invalid_format"]]);
    },
  );

  test.each(["s", "m"])("Windows does not fit on package %s", async (plan) => {
    const answer = await world.owned.post("/servers", world.body({ image: "windows-2022", package: plan }));
    expect([answer.status, fields(answer)]).toEqual([422, ["package os_plan_mismatch"]]);
  });

  test("Windows takes no SSH keys", async () => {
    const key = (await world.owned.post("/ssh-keys", { name: "for windows", public_key: publicKey })).body;
    const answer = await world.owned.post(
      "/servers",
      world.body({ image: "windows-2022", package: "s", ssh_key_ids: [key.id] }),
    );
    expect([answer.status, fields(answer)]).toEqual([
      422,
      ["package os_plan_mismatch", "ssh_key_ids conflicts_with"],
    ]);
    await world.owned.delete(`/ssh-keys/${key.id}`);
  });

  test("reads the same for another organisation's keys and subnets as for unknown ones", async () => {
    const other = await world.world.addOrganisation("other");
    const key = (await other.owner.post("/ssh-keys", { name: "k", public_key: publicKey })).body;
    const subnet = (await other.owner.post("/servers", world.body())).body.created.subnet;
    const foreign = await world.owned.post(
      "/servers",
      world.body({ ssh_key_ids: [key.id], subnet_id: subnet.id }),
    );
    const unknown = await world.owned.post(
      "/servers",
      world.body({
        ssh_key_ids: ["key_06ex2v3m8n4k6q1r5s7t9w0y2z"],
        subnet_id: "sub_06ex2v3m8n4k6q1r5s7t9w0y2z",
      }),
    );
    expect(foreign.status).toBe(422);
    expect(foreign.body.errors).toEqual(unknown.body.errors);
  });

  test("is answered in the order 401, 403, 422, 409", async () => {
    const viewer = await world.world.addToken(world.organisation.id, "viewer");
    const { server } = await world.create();
    const wrong = { name: "!", region: "ist1" };
    const anonymous = world.owned.app.request("/api/v1/servers", { method: "POST", body: "{" });
    expect((await anonymous).status).toBe(401);
    const forbidden = await viewer.post("/servers", wrong);
    expect([forbidden.status, forbidden.body.required]).toEqual([403, ["server:create"]]);
    expect((await world.owned.post("/servers", { ...wrong, name: server.name })).status).toBe(422);
    expect((await world.owned.post("/servers", world.body({ name: server.name }))).status).toBe(409);
  });
});

describe("a state that does not allow it", () => {
  test("refuses a name that a live server of the region has", async () => {
    const { server } = await world.create();
    const again = await world.owned.post("/servers", world.body({ name: server.name }));
    expect([again.status, again.body.code]).toEqual([409, "name_taken"]);
    expect(again.body.precondition).toMatchObject({ name: "server_name_free", resource: server.id });
    const other = await world.world.addOrganisation("namesake");
    expect((await other.owner.post("/servers", world.body({ name: server.name }))).status).toBe(202);
  });

  test("refuses a region in maintenance", async () => {
    await world.world.operator.patch("/regions/ist1", { maintenance: true });
    const answer = await world.owned.post("/servers", world.body());
    await world.world.operator.patch("/regions/ist1", { maintenance: false });
    expect([answer.status, answer.body.code]).toEqual([409, "region_unavailable"]);
  });

  test("refuses Windows until the region's agent has reported its key", async () => {
    const answer = await world.owned.post("/servers", world.body({ image: "windows-2025", package: "l" }));
    expect([answer.status, answer.body.code]).toEqual([409, "region_unavailable"]);
    expect(answer.body.precondition.name).toBe("region_agent_key_known");
  });

  test("is listed in full by a dry run, which changes nothing", async () => {
    const owner = (await world.world.addOrganisation("dry")).owner;
    const { region } = await tinyRegion("dry1");
    const taken = (await owner.post("/servers", world.body({ region, name: "taken" }))).body.server;
    await world.world.operator.patch(`/regions/${region}`, { maintenance: true });
    const answer = await owner.post(
      "/servers?dry_run=true",
      world.body({ region, name: "taken", image: "windows-2022", package: "l" }),
    );
    expect(answer.status).toBe(200);
    expect(answer.body.would).toBeNull();
    expect(answer.body.blockers.map((blocker: { code: string; resource: string }) => blocker.code)).toEqual([
      "region_unavailable",
      "region_unavailable",
      "name_taken",
      "vmid_exhausted",
    ]);
    expect(answer.body.blockers[2].resource).toBe(taken.id);
    expect((await owner.get("/servers")).body.items).toHaveLength(1);
  });

  test("would be changed by a dry run exactly so, and is not", async () => {
    const owner = (await world.world.addOrganisation("dry-free")).owner;
    const answer = await owner.post("/servers?dry_run=true", world.body({ name: "maybe" }));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      dry_run: true,
      blockers: [],
      would: {
        job_kind: "ServerCreate",
        server: { name: "maybe", status: "creating" },
        created: { network: { name: "default" } },
      },
    });
    expect(answer.body.console_password).toBeUndefined();
    expect((await owner.get("/servers")).body.items).toEqual([]);
    expect((await owner.get("/networks")).body.items).toEqual([]);
    expect((await owner.get("/jobs")).body.items).toEqual([]);
    expect(await world.rows("select 1 from server where name = 'maybe'")).toEqual([]);
  });

  test("runs out of VM numbers and says so", async () => {
    const { region } = await tinyRegion("full1");
    expect((await world.owned.post("/servers", world.body({ region }))).status).toBe(202);
    const answer = await world.owned.post("/servers", world.body({ region }));
    expect([answer.status, answer.body.code]).toEqual([409, "vmid_exhausted"]);
  });

  async function tinyRegion(slug: string) {
    await world.world.addRegion(slug, { vmid_range: { first: 500, last: 500 } });
    return { region: slug };
  }
});

describe("the console password", () => {
  test("is shown once, fits the stored hash, and is nowhere else", async () => {
    const key = "console-password-test";
    const body = world.body();
    const answer = await world.owned.post("/servers", body, { "Idempotency-Key": key });
    const password = answer.body.console_password;
    expect(password).toMatch(/^[A-Za-z2-9]{20}$/);
    const [{ password_hash }] = await world.rows(
      "select password_hash from server_secret where server_id = $1",
      [answer.body.server.id],
    );
    expect(verify(password, password_hash)).toBe(true);

    const replay = await world.owned.post("/servers", body, { "Idempotency-Key": key });
    expect(replay.headers.get("Idempotency-Replayed")).toBe("true");
    expect(replay.body).toMatchObject({
      server: { id: answer.body.server.id },
      console_password: null,
      secret_withheld: true,
    });
    const tables = await world.rows(
      "select relname from pg_class where relkind in ('r', 'p') and relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)",
    );
    for (const { relname } of tables) {
      const schema =
        relname.startsWith("_private") || relname === "migrations" ? "graphile_worker" : "public";
      const held = await world.rows(
        `select 1 from ${schema}."${relname}" as t where t::text like '%' || $1 || '%' limit 1`,
        [password],
      );
      expect(held, relname).toEqual([]);
    }
  });

  test("is not created when keys are given", async () => {
    const key = (await world.owned.post("/ssh-keys", { name: "mine", public_key: publicKey })).body;
    const { server, console_password } = await world.create({ ssh_key_ids: [key.id] });
    expect(console_password).toBeNull();
    expect(server.ssh_key_ids).toEqual([key.id]);
    const [stored] = await world.rows("select ssh_public_keys from server where id = $1", [server.id]);
    expect(stored.ssh_public_keys).toEqual([publicKey]);
  });

  test("of Windows can be read by the region's agent only", async () => {
    const agent = makeSealingKeyPair();
    await world.agent.api.post("/agent/health", {
      agent_version: "0.1.0",
      hypervisor: { kind: "proxmox", reachable: true },
      public_key: agent.publicKey,
    });
    const { server, console_password } = await world.create({ image: "windows-2022", package: "l" });
    expect(server.console.types).toEqual(["vnc"]);
    const [secret] = await world.rows("select * from server_secret where server_id = $1", [server.id]);
    expect(secret.password_hash).toBeNull();
    expect(openSecret(agent.privateKey, secret.sealed_password, server.id)).toBe(console_password);
  });

  test("of Windows outlives a create whose guest agent was silent: a retry sets the one that was shown", async () => {
    await world.agent.work();
    const { server, job } = await world.create({ image: "windows-2022", package: "l" });
    const first = await world.agent.take("ServerCreate");
    await world.agent.fail(first, "guest_agent_unavailable");
    const failed = await world.server(server.id);
    expect(failed).toMatchObject({ status: "error", status_reason: { code: "create_failed" } });
    expect(failed.status_reason.message).toContain("Try again when the guest has started");
    expect((await world.owned.post(`/jobs/${job.id}/retry`, {})).status).toBe(202);
    const again = await world.agent.take("ServerCreate");
    expect(again.payload.sealed_password).toBe(first.payload.sealed_password);
    expect(again.payload.sealed_password).toBeTruthy();
    await world.agent.succeed(again, "on");
    expect(await world.rows("select 1 from server_secret where server_id = $1", [server.id])).toEqual([]);
    expect(await world.server(server.id)).toMatchObject({ status: "running" });
  });

  test("is not created for a Windows that is not started, and needs no key of an agent then", async () => {
    const [{ agent_public_key: key }] = await world.rows(
      "select agent_public_key from region where slug = $1",
      [world.region],
    );
    await world.rows("update region set agent_public_key = null where slug = $1", [world.region]);
    const more = { image: "windows-2022", package: "l", start: false };
    const { server, console_password } = await world.create(more);
    await world.rows("update region set agent_public_key = $2 where slug = $1", [world.region, key]);
    expect(console_password).toBeNull();
    const job = await world.agent.take("ServerCreate");
    expect(job.payload).toMatchObject({ start: false, password_hash: null, sealed_password: null });
    await world.agent.succeed(job, "off");
    expect(await world.rows("select 1 from server_secret where server_id = $1", [server.id])).toEqual([]);
  });
});

describe("reading servers", () => {
  test("lists them newest first in pages, and by every filter", async () => {
    const owner = (await world.world.addOrganisation("lists")).owner;
    for (const [name, labels] of [
      ["alpha", { role: "web" }],
      ["beta", { role: "api" }],
      ["gamma", { role: "web", tier: "test" }],
    ] as const)
      expect((await owner.post("/servers", world.body({ name, labels }))).status).toBe(202);
    const names = async (query: string) =>
      (await owner.get(`/servers${query}`)).body.items.map((each: { name: string }) => each.name);

    expect(await names("")).toEqual(["gamma", "beta", "alpha"]);
    expect(await names("?sort=name")).toEqual(["alpha", "beta", "gamma"]);
    expect(await names("?sort=-name&limit=1")).toEqual(["gamma"]);
    expect(await names("?name=beta")).toEqual(["beta"]);
    expect(await names("?q=al")).toEqual(["alpha"]);
    expect(await names("?q=%25")).toEqual([]);
    expect(await names("?label_selector=role%3Dweb%2C!tier")).toEqual(["alpha"]);
    expect(await names("?status=creating&status=running")).toHaveLength(3);
    expect(await names("?status=error")).toEqual([]);
    expect(await names("?region=ank1")).toEqual([]);
    const page = (await owner.get("/servers?limit=2&sort=name")).body;
    const rest = (await owner.get(`/servers?limit=2&sort=name&cursor=${page.next_cursor}`)).body;
    expect([...page.items, ...rest.items].map((each: { name: string }) => each.name)).toEqual([
      "alpha",
      "beta",
      "gamma",
    ]);
    expect(rest.next_cursor).toBeNull();
  });

  test("answers 404 alike for unknown ids, nonsense and other organisations' servers", async () => {
    const { server } = await world.create();
    const other = await world.world.addOrganisation("stranger");
    for (const id of [server.id, "srv_06ex2v3m8n4k6q1r5s7t9w0y2z", "srv_..%2f..", "1"]) {
      for (const answer of [
        await other.owner.get(`/servers/${id}`),
        await other.owner.patch(`/servers/${id}`, { nonsense: true }),
        await other.owner.delete(`/servers/${id}`),
        await other.owner.post(`/servers/${id}/cancel-deletion`),
      ])
        expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
          404,
          "not_found",
          "no such resource",
        ]);
    }
    expect((await world.server(server.id)).status).toBe("creating");
  });
});

describe("PATCH /servers/{id}", () => {
  test("merges labels, sets protection, and counts the generation", async () => {
    const server = await world.createRunning({ labels: { role: "web", tier: "x" } });
    const answer = await world.owned.patch(
      `/servers/${server.id}`,
      { labels: { tier: null, owner: "ada" }, protection: { delete: true } },
      { "If-Match": `"g${server.generation}"` },
    );
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      labels: { role: "web", owner: "ada" },
      protection: { delete: true },
      generation: server.generation + 1,
      observed_generation: server.generation + 1,
    });
    const late = await world.owned.patch(
      `/servers/${server.id}`,
      { labels: { owner: "bob" } },
      { "If-Match": `"g${server.generation}"` },
    );
    expect([late.status, late.body.code]).toEqual([412, "precondition_failed"]);
    expect((await world.owned.get(`/servers/${server.id}`)).headers.get("ETag")).toBe(
      `"g${server.generation + 1}"`,
    );
  });

  test("lets a member protect a server, and only an admin remove the protection", async () => {
    const { server } = await world.create();
    const path = `/servers/${server.id}`;
    const member = await world.world.addToken(world.organisation.id, "member");
    for (const what of ["delete", "rebuild"]) {
      const on = await member.patch(path, { protection: { [what]: true } });
      expect([on.status, on.body.protection[what]]).toEqual([200, true]);
      // Before what is wrong with the body, and before If-Match.
      const stale = { "If-Match": '"g999"' };
      for (const more of [{}, { name: "a..b" }, { labels: { role: "web" } }]) {
        const off = await member.patch(path, { ...more, protection: { [what]: false } }, stale);
        expect([off.status, off.body.code, off.body.required]).toEqual([
          403,
          "forbidden",
          ["server:unprotect"],
        ]);
      }
      expect((await world.server(server.id)).protection[what]).toBe(true);
      const admin = await world.world.addToken(world.organisation.id, "admin");
      const off = await admin.patch(path, { protection: { [what]: false } });
      expect([off.status, off.body.protection[what]]).toEqual([200, false]);
      // A protection that is off may be set to off by every caller who may change the server.
      expect((await member.patch(path, { protection: { [what]: false } })).status).toBe(200);
    }
  });

  test("a scope without it keeps an owner's token from removing protection", async () => {
    const { server } = await world.create({ protection: { delete: true } });
    const token = await world.world.addToken(world.organisation.id, "owner", ["server:update"]);
    const off = await token.patch(`/servers/${server.id}`, { protection: { delete: false } });
    expect([off.status, off.body.required]).toEqual([403, ["server:unprotect"]]);
  });

  test("refuses an empty change and unknown fields", async () => {
    const { server } = await world.create();
    expect((await world.owned.patch(`/servers/${server.id}`, {})).status).toBe(422);
    const renamed = await world.owned.patch(`/servers/${server.id}`, { hostname: "x" });
    expect([renamed.status, fields(renamed)]).toEqual([422, ["hostname unknown_field"]]);
  });
});
