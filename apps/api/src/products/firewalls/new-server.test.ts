import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

let servers: ServerWorld;

beforeAll(async () => {
  servers = await ServerWorld.open({ removalBufferSeconds: 3600 });
});
afterEach(async () => {
  await servers.refreshFilters();
  await servers.agent.work();
  expect(await servers.violations()).toEqual([]);
});
afterAll(async () => {
  await servers.close();
});

const ssh = { protocol: "tcp", ports: ["22"], peers: [{ any: true }] };

const make = (rules?: readonly object[]) => servers.newFirewall(rules);
const get = async (id: string) => (await servers.owned.get(`/firewalls/${id}`)).body;
/** The payloads of all waiting jobs; the jobs succeed. */
async function work() {
  const done = await servers.agent.work();
  return done.map(
    ({ kind, payload }) =>
      ({ ...payload, kind }) as {
        kind: string;
        server: { id: string };
        filter?: { rules: { ports: string[]; addresses: string[] | null }[] };
      },
  );
}
const names = (ids: readonly string[]) => ({ firewall_ids: ids });

describe("a firewall that is named when a server is created", { timeout: 60_000 }, () => {
  it("it is attached by the same request, and the job that creates the server applies its rules", async () => {
    const [web, mail] = [await make(), await make([{ ...ssh, ports: ["25"] }])];
    const { server } = await servers.create(names([web.id, mail.id]));
    expect(server.firewall_ids).toEqual([web.id, mail.id]);
    expect(await servers.server(server.id)).toMatchObject(names([web.id, mail.id]));
    const { items } = (await servers.owned.get(`/servers?name=${server.name}`)).body;
    expect(items[0].firewall_ids).toEqual([web.id, mail.id]);
    const attached = await get(web.id);
    expect(attached.attachments).toMatchObject([
      { type: "server", server_id: server.id, status: "pending", servers: 1 },
    ]);
    expect(attached.generation).toBe(web.generation + 1);
    const done = await work();
    expect(done.map(({ kind }) => kind)).toEqual(["ServerCreate"]);
    expect(done[0]?.filter?.rules.flatMap(({ ports }) => ports).sort()).toEqual(["22", "25"]);
    expect((await get(web.id)).attachments).toMatchObject([{ status: "applied" }]);
    expect((await servers.server(server.id)).firewall_ids).toEqual([web.id, mail.id]);
    expect((await servers.createRunning()).firewall_ids).toEqual([]);
  });

  it("a rule that is changed before the server exists applies in its changed form", async () => {
    const { id } = await make();
    const { server } = await servers.create(names([id]));
    const put = await servers.owned.put(`/firewalls/${id}/rules`, { rules: [{ ...ssh, ports: ["443"] }] });
    expect(put.body.job).toBeNull();
    const done = await servers.agent.work();
    expect(done.map(({ kind }) => kind)).toEqual(["ServerCreate"]);
    expect(done[0]?.payload).toMatchObject({
      server: { id: server.id },
      filter: { rules: [{ ports: ["443"] }] },
    });
    expect((await get(id)).attachments).toMatchObject([{ status: "applied" }]);
  });

  it("rules that name the firewall include the new server once it exists", async () => {
    const { id } = await make();
    const db = await servers.createRunning();
    const { id: ofDb } = await make([{ ...ssh, peers: [{ firewall_id: id }] }]);
    await servers.owned.post(`/firewalls/${ofDb}/attachments`, { server_id: db.id });
    await servers.agent.work();
    const { server } = await servers.create(names([id]));
    await servers.agent.work();
    await servers.refreshFilters();
    const told = await work();
    expect(told.map(({ server: of }) => of.id)).toEqual([db.id]);
    expect(told[0]?.filter?.rules[0]?.addresses).toEqual([
      (await servers.server(server.id)).interfaces[0].private_ip,
    ]);
  });

  it("must be the organisation's, in the server's region and named once; all errors are listed", async () => {
    const { id } = await make();
    const others = await servers.world.addOrganisation("other");
    const foreign = await others.owner.post("/firewalls", { name: "theirs", region: servers.region });
    const { slug: elsewhere } = await servers.world.addRegion("far");
    const away = await servers.owned.post("/firewalls", { name: "away", region: elsewhere });
    const ask = async (ids: readonly string[], query = "") =>
      (await servers.owned.post(`/servers${query}`, servers.body(names(ids)))).body;
    const theirs = await ask([id, foreign.body.firewall.id, away.body.firewall.id, "fw_none"]);
    expect(
      theirs.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`),
    ).toEqual(["/firewall_ids/1 not_found", "/firewall_ids/2 conflicts_with", "/firewall_ids/3 not_found"]);
    expect(theirs.errors[0].message).toBe(theirs.errors[2].message);
    expect((await ask([id, id])).errors).toMatchObject([{ code: "duplicate" }]);
    expect((await get(id)).attachments).toEqual([]);
    await servers.owned.delete(`/firewalls/${away.body.firewall.id}`);
  });

  it("is shown by a dry run, which attaches nothing", async () => {
    const { id } = await make();
    const tried = await servers.owned.post("/servers?dry_run=true", servers.body(names([id])));
    expect(tried.body).toMatchObject({ would: { server: names([id]) }, blockers: [] });
    expect(await get(id)).toMatchObject({ attachments: [], generation: 1 });
  });

  it("is attached once, however often the same request arrives", async () => {
    const { id } = await make();
    const body = servers.body(names([id]));
    const again = servers.owned.with({ "Idempotency-Key": `create-${id}` });
    const answers = await Promise.all([again.post("/servers", body), again.post("/servers", body)]);
    const late = await again.post("/servers", body);
    const accepted = [...answers, late].filter(({ status }) => status === 202);
    expect(new Set(accepted.map((answer) => answer.body.server.id)).size).toBe(1);
    expect(late.body.server).toMatchObject(names([id]));
    expect((await get(id)).attachments).toHaveLength(1);
    const other = await again.post("/servers", { ...body, firewall_ids: [] });
    expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
  });

  it("counts like attaching: no server has more than 500 rules of all its firewalls", async () => {
    const rules = Array.from({ length: 100 }, (_, index) => ({ ...ssh, ports: [String(1000 + index)] }));
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) ids.push((await make(rules)).id);
    const one = (await make()).id;
    const full = servers.body(names([...ids, one]));
    const refused = await servers.owned.post("/servers", full);
    expect(refused.body).toMatchObject({
      code: "quota_exceeded",
      precondition: { name: "server_has_room", resource: null },
    });
    expect((await servers.owned.post("/servers?dry_run=true", full)).body.blockers).toMatchObject([
      { name: "server_has_room" },
    ]);
    expect((await get(one)).attachments).toEqual([]);
    expect((await servers.owned.post("/servers", servers.body(names(ids)))).status).toBe(202);
    await servers.agent.work();
  });

  it("needs the permission to change firewalls as well", async () => {
    const { id } = await make();
    const token = await servers.owned.post("/tokens", {
      name: "maker",
      role: "member",
      scopes: ["server:*", "firewall:read"],
    });
    const maker = servers.owned.with({ Authorization: `Bearer ${token.body.secret}` });
    const refused = await maker.post("/servers", servers.body(names([id])));
    expect([refused.status, refused.body.required]).toEqual([403, ["firewall:update"]]);
    expect((await maker.post("/servers", servers.body(names([])))).status).toBe(202);
    expect((await get(id)).attachments).toEqual([]);
    await servers.agent.work();
  });

  it("is detached with the server, and not before: a firewall that a server is created with cannot be deleted", async () => {
    const { id } = await make();
    const { server } = await servers.create(names([id]));
    const refused = await servers.owned.delete(`/firewalls/${id}`);
    expect(refused.body).toMatchObject({ code: "in_use" });
    await servers.agent.work();
    await servers.owned.delete(`/servers/${server.id}?purge=true`);
    await servers.agent.work();
    expect((await servers.owned.delete(`/firewalls/${id}`)).status).toBe(204);
  });

  it("concurrent creates and rules that name each other never deadlock", async () => {
    const [one, two] = [await make(), await make()];
    const naming = (id: string) => ({ rules: [{ ...ssh, peers: [{ firewall_id: id }] }] });
    await servers.create(names([one.id, two.id]));
    for (let round = 0; round < 4; round += 1) {
      const answers = await Promise.all([
        servers.owned.post("/servers", servers.body(names([one.id, two.id]))),
        servers.owned.put(`/firewalls/${two.id}/rules`, naming(one.id)),
        servers.owned.post("/servers", servers.body(names([two.id, one.id]))),
        servers.owned.delete(`/firewalls/${one.id}`),
        servers.owned.put(`/firewalls/${two.id}/rules`, naming(two.id)),
      ]);
      expect(answers.map(({ status }) => (status === 202 ? 200 : status))).toEqual([200, 200, 200, 409, 200]);
      await servers.agent.work();
      await servers.refreshFilters();
    }
  });

  it("and that is deleted between the check and the write is reported as no firewall", async () => {
    const { id } = await make([]);
    const client = await servers.owner.connect();
    try {
      await client.query("begin");
      await client.query("delete from firewall where id = $1", [id]);
      const answer = servers.owned.post("/servers", servers.body(names([id])));
      await expect
        .poll(async () => (await servers.rows("select 1 from pg_locks where not granted")).length, {
          timeout: 15_000,
        })
        .toBeGreaterThan(0);
      await client.query("commit");
      expect(await answer).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: "/firewall_ids/0", code: "not_found" }] },
      });
    } finally {
      client.release(true);
    }
  });
});
