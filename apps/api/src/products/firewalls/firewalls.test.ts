import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";

let servers: ServerWorld;

beforeAll(async () => {
  servers = await ServerWorld.open({ removalBufferSeconds: 3600 });
});
afterEach(async () => {
  await servers.refreshFilters();
  await servers.agent.work();
  expect(await servers.violations()).toEqual([]);
  // Firewalls that a test leaves attached would filter the next one's servers.
  for (const { id, attachments } of (await servers.owned.get("/firewalls?limit=200")).body.items)
    for (const each of attachments) await servers.owned.delete(`/firewalls/${id}/attachments/${each.id}`);
  await servers.agent.work();
});
afterAll(async () => {
  await servers.close();
});

const ssh = { protocol: "tcp", ports: ["22"], peers: [{ any: true }] };

const make = (rules?: readonly object[]) => servers.newFirewall(rules);
const attach = (id: string, target: object) => servers.owned.post(`/firewalls/${id}/attachments`, target);
const get = async (id: string) => (await servers.owned.get(`/firewalls/${id}`)).body;
/** The payloads of all waiting jobs, by the server's id; the jobs succeed. */
async function work() {
  const done = await servers.agent.work();
  return new Map(
    done.map(({ payload }) => [
      payload.server.id,
      payload as {
        kind: string;
        filter?: { rules: { id: string; addresses: string[] | null; side: string | null }[] };
      },
    ]),
  );
}

describe("a firewall", () => {
  it("has its rules in their order, with defaults filled in", async () => {
    const firewall = await make([
      ssh,
      {
        ...ssh,
        direction: "out",
        action: "deny",
        priority: 5,
        peers: [{ cidr: "192.0.2.0/24" }, { cidr: "2001:db8::/32" }],
      },
    ]);
    expect(await get(firewall.id)).toEqual(firewall);
    expect(firewall.rules).toMatchObject([
      {
        direction: "in",
        action: "allow",
        protocol: "tcp",
        ports: ["22"],
        priority: 1000,
        enabled: true,
        description: "",
      },
      {
        direction: "out",
        action: "deny",
        priority: 5,
        peers: [{ cidr: "192.0.2.0/24" }, { cidr: "2001:db8::/32" }],
      },
    ]);
    expect(firewall.platform_rules.map(({ name }: { name: string }) => name)).toContain("own_addresses");
  });

  it("keeps the ids of rules that are unchanged", async () => {
    const { id, rules } = await make([ssh, { ...ssh, ports: ["80"] }]);
    const put = await servers.owned.put(`/firewalls/${id}/rules`, {
      rules: [
        { ...ssh, ports: ["443"] },
        { ...ssh, ports: ["80"] },
      ],
    });
    expect(put.status).toBe(200);
    expect(put.body.job).toBeNull();
    expect(put.body.firewall.rules[1].id).toBe(rules[1].id);
    expect(put.body.firewall.rules[0].id).not.toBe(rules[0].id);
  });

  it("changes a rule in place, without a job for a change that affects no packet", async () => {
    const server = await servers.createRunning();
    const { id, rules } = await make([ssh, { ...ssh, ports: ["80"] }, { ...ssh, ports: ["443"] }]);
    const [first, second, third] = rules as { id: string }[];
    await attach(id, { server_id: server.id });
    await work();
    const patch = (rule: string, body: object, headers = {}) =>
      servers.owned.with(headers).patch(`/firewalls/${id}/rules/${rule}`, body);
    const moved = await patch(third?.id ?? "", { position: 0, description: "TLS first" });
    expect(moved.status).toBe(200);
    expect(moved.body.job).toBeNull();
    expect(moved.body.firewall.rules).toEqual([{ ...third, description: "TLS first" }, first, second]);
    const last = await patch(third?.id ?? "", { position: 99 });
    expect(last.body.firewall.rules.map((rule: { id: string }) => rule.id)).toEqual(
      [first, second, third].map((rule) => rule?.id),
    );

    const changed = await patch(second?.id ?? "", {
      ports: ["8080"],
      peers: [{ cidr: "192.0.2.0/24" }],
      action: "deny",
      priority: 10,
    });
    expect(changed.status).toBe(202);
    expect(changed.body.firewall.rules[1]).toEqual({
      ...second,
      ports: ["8080"],
      peers: [{ cidr: "192.0.2.0/24" }],
      action: "deny",
      priority: 10,
    });
    expect((await work()).get(server.id)?.filter?.rules.map((rule) => rule.id)).toEqual([
      second?.id,
      ...[first?.id, third?.id].sort(),
    ]);
    const off = await patch(second?.id ?? "", { enabled: false });
    expect(off.status).toBe(202);
    expect((await work()).get(server.id)?.filter?.rules).toHaveLength(2);

    expect((await patch(first?.id ?? "", { enabled: false }, { "If-Match": '"g1"' })).status).toBe(412);
    expect((await patch(`fwr_${"0".repeat(26)}`, { enabled: false })).status).toBe(404);
  });

  it("refuses a change that makes no sense with the rest of its rule, also of two concurrent changes", async () => {
    const { id, rules } = await make([{ protocol: "tcp", peers: [{ cidr: "192.0.2.0/24" }] }]);
    const path = `/firewalls/${id}/rules/${rules[0].id}`;
    const wrong = await servers.owned.patch(path, { protocol: "icmpv6" });
    expect(wrong.body.errors).toMatchObject([{ pointer: "/peers/0/cidr", code: "conflicts_with" }]);
    expect((await servers.owned.patch(path, {})).status).toBe(422);
    for (let round = 0; round < 5; round += 1) {
      await servers.owned.patch(path, { protocol: "tcp", ports: [] });
      const both = await Promise.all([
        servers.owned.patch(path, { protocol: "any" }),
        servers.owned.patch(path, { ports: ["80"] }),
      ]);
      expect(both.map(({ status }) => status).sort()).toEqual([200, 422]);
    }
  });

  it("has at most fifteen numbers of ports in a rule, and a range is two of them", async () => {
    const { id } = await make([]);
    const ranges = (many: number) =>
      Array.from({ length: many }, (_, index) => `${100 + 9 * index}-${105 + 9 * index}`);
    const add = (ports: string[]) =>
      servers.owned.post(`/firewalls/${id}/rules`, { protocol: "tcp", ports, peers: [{ any: true }] });
    expect((await add([...ranges(7), "9"])).status).toBeLessThan(300);
    const refused = await add(ranges(8));
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([{ pointer: "/ports", code: "too_long" }]);
  });

  it("counts towards its organisation's quotas, and its rules do", async () => {
    const { operator } = servers.world;
    const limit = (limits: object) =>
      operator.put(`/organisations/${servers.organisation.id}/quotas`, { limits });
    const used = async (name: string) =>
      (await servers.owned.get("/quotas")).body.items.find((each: { name: string }) => each.name === name)
        .used as number;
    const [firewalls, counted] = [await used("firewalls"), await used("firewall_rules")];
    const { id, rules } = await make([ssh, { ...ssh, ports: ["80"] }]);
    expect([await used("firewalls"), await used("firewall_rules")]).toEqual([firewalls + 1, counted + 2]);
    const quotaOf = (answer: { body: { precondition?: { name: string; quota: object } } }) => [
      answer.body.precondition?.name,
      answer.body.precondition?.quota,
    ];
    try {
      await limit({ firewalls: firewalls + 1, firewall_rules: counted + 3 });
      const second = await servers.owned.post("/firewalls", { name: "one-more", region: servers.region });
      expect(quotaOf(second)).toEqual([
        "quota_firewalls",
        { name: "firewalls", limit: firewalls + 1, used: firewalls + 1, asked: 1 },
      ]);
      const path = `/firewalls/${id}/rules`;
      const put = await servers.owned.put(path, { rules: [ssh, ssh, ssh, ssh] });
      expect(quotaOf(put)).toEqual([
        "quota_firewall_rules",
        { name: "firewall_rules", limit: counted + 3, used: counted + 2, asked: 2 },
      ]);
      const posts = await Promise.all([servers.owned.post(path, ssh), servers.owned.post(path, ssh)]);
      expect(posts.map(({ status }) => status).sort()).toEqual([200, 409]);
      await limit({ firewall_rules: 0 });
      expect((await servers.owned.patch(`${path}/${rules[0].id}`, { ports: ["23"] })).status).toBe(200);
      expect((await servers.owned.delete(`${path}/${rules[1].id}`)).status).toBe(200);
      expect((await servers.owned.post(path, ssh)).status).toBe(409);
    } finally {
      await limit({ firewalls: null, firewall_rules: null });
    }
  });

  it("refuses every meaningless rule, each at its index", async () => {
    const answer = await servers.owned.post("/firewalls", {
      name: "wrong",
      region: servers.region,
      rules: [
        { ...ssh, ports: ["0", "90-80"] },
        { protocol: "icmp", ports: ["22"], peers: [{ any: true }] },
        { ...ssh, peers: [{ cidr: "192.0.2.1/24" }, { label_selector: "," }, { subnet_id: "sub_none" }] },
        { protocol: "icmp", peers: [{ cidr: "2001:db8::/32" }] },
      ],
    });
    expect(answer.status).toBe(422);
    expect(
      answer.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`),
    ).toEqual([
      "/rules/0/ports/0 invalid_format",
      "/rules/0/ports/1 invalid_format",
      "/rules/1/ports conflicts_with",
      "/rules/2/peers/0/cidr invalid_format",
      "/rules/2/peers/1/label_selector invalid_format",
      "/rules/3/peers/0/cidr conflicts_with",
      "/rules/2/peers/2/subnet_id not_found",
    ]);
  });

  it("can be deleted when it is not attached and in no other rule", async () => {
    const one = await make();
    const other = await make([{ ...ssh, peers: [{ firewall_id: one.id }] }]);
    expect((await servers.owned.delete(`/firewalls/${one.id}`)).body).toMatchObject({
      code: "in_use",
      precondition: { resource: other.id },
    });
    const { subnet_id } = (await servers.createRunning()).interfaces[0];
    await attach(other.id, { subnet_id });
    expect((await servers.owned.delete(`/firewalls/${other.id}`)).body).toMatchObject({ code: "in_use" });
    await servers.owned.put(`/firewalls/${other.id}/rules`, { rules: [] });
    expect((await servers.owned.delete(`/firewalls/${one.id}`)).status).toBe(204);
    expect((await servers.owned.get(`/firewalls/${one.id}`)).status).toBe(404);
  });
});

describe("attached", () => {
  it("it applies the rules by a job, and shows whether they are in force", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    const answer = await attach(id, { server_id: server.id });
    expect(answer.status).toBe(202);
    expect(answer.body.job).toMatchObject({
      kind: "FirewallApply",
      resource: { type: "server", id: server.id },
    });
    expect(answer.body.firewall.attachments).toMatchObject([
      { type: "server", name: server.name, status: "pending", servers: 1 },
    ]);
    const told = await work();
    expect(told.get(server.id)?.filter).toMatchObject({
      is_filtered: true,
      rules: [
        { direction: "in", action: "allow", protocol: "tcp", ports: ["22"], side: null, addresses: null },
      ],
    });
    expect((await get(id)).attachments).toMatchObject([{ status: "applied" }]);
    expect((await attach(id, { server_id: server.id })).body).toMatchObject({ code: "already_attached" });
  });

  it("by its subnet or its labels filters a server that is created later", async () => {
    const first = await servers.createRunning();
    const { subnet_id } = first.interfaces[0];
    const bySubnet = await make();
    const byLabel = await make([{ ...ssh, ports: ["80"] }]);
    expect((await attach(bySubnet.id, { subnet_id })).body.job_ids).not.toEqual([]);
    await attach(byLabel.id, { label_selector: "role=web" });
    await work();
    const { server } = await servers.create({ subnet_id, labels: { role: "web" } });
    const told = await work();
    expect([...told.keys()]).toEqual([server.id]);
    expect(told.get(server.id)).toMatchObject({ kind: "ServerCreate" });
    expect(told.get(server.id)?.filter?.rules).toHaveLength(2);
    expect((await get(byLabel.id)).attachments).toMatchObject([{ status: "applied", servers: 1 }]);
  });

  it("a server with an open job gets its rules when that has ended", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    await servers.owned.post(`/servers/${server.id}/power`, { action: "reboot" });
    const answer = await attach(id, { server_id: server.id });
    expect([answer.status, answer.body.job]).toEqual([200, null]);
    expect((await servers.agent.work()).map(({ kind }) => kind)).toEqual(["ServerPower", "FirewallApply"]);
    expect((await get(id)).attachments).toMatchObject([{ status: "applied" }]);
  });

  it("a change during a job is applied by another job", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    await attach(id, { server_id: server.id });
    const job = await servers.agent.take("FirewallApply");
    const put = await servers.owned.put(`/firewalls/${id}/rules`, { rules: [] });
    expect(put.body.job).toBeNull();
    await servers.agent.succeed(job);
    const next = await servers.agent.take("FirewallApply");
    expect(next.payload.filter.rules).toEqual([]);
    await servers.agent.succeed(next);
    expect(await servers.agent.claim()).toBeNull();
  });

  it("a change that is reverted before it was applied needs no second job", async () => {
    const server = await servers.createRunning();
    const { id, rules } = await make();
    await attach(id, { server_id: server.id });
    await work();
    const strip = ({ id: _, ...rule }: { id: string }) => rule;
    await servers.owned.put(`/firewalls/${id}/rules`, { rules: [] });
    await servers.owned.put(`/firewalls/${id}/rules`, { rules: rules.map(strip) });
    expect((await servers.agent.work()).map(({ kind }) => kind)).toEqual(["FirewallApply"]);
  });

  it("a job that fails leaves the old rules in force, reports it, and can be retried", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    const { job } = (await attach(id, { server_id: server.id })).body;
    await servers.agent.fail(await servers.agent.take("FirewallApply"), "vm_not_ours");
    expect((await get(id)).attachments).toMatchObject([{ status: "failed" }]);
    expect(await servers.server(server.id)).toMatchObject({
      status: "running",
      status_reason: { code: "firewall_failed" },
    });
    expect(await servers.agent.claim()).toBeNull();
    expect((await servers.owned.post(`/jobs/${job.id}/retry`)).status).toBe(202);
    await work();
    expect((await get(id)).attachments).toMatchObject([{ status: "applied" }]);
  });

  it("rules that a job left half applied are completed, although its firewall is detached", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    const { firewall } = (await attach(id, { server_id: server.id })).body;
    await servers.agent.fail(await servers.agent.take("FirewallApply"), "vm_not_ours");
    const answer = await servers.owned.delete(`/firewalls/${id}/attachments/${firewall.attachments[0].id}`);
    expect(answer.status).toBe(202);
    expect((await work()).get(server.id)?.filter).toMatchObject({ id: "none" });
  });

  it("rules that an attempt left half applied are completed, although its job was cancelled by a removal", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    const { firewall } = (await attach(id, { server_id: server.id })).body;
    await servers.agent.end(await servers.agent.take("FirewallApply"), { status: "retry" });
    expect((await servers.owned.delete(`/servers/${server.id}`)).status).toBe(202);
    await servers.owned.delete(`/firewalls/${id}/attachments/${firewall.attachments[0].id}`);
    expect((await servers.agent.work()).map(({ kind }) => kind)).toEqual(["ServerStop"]);
    expect((await servers.owned.post(`/servers/${server.id}/cancel-deletion`)).status).toBe(202);
    const done = await servers.agent.work();
    expect(done.map(({ kind }) => kind)).toEqual(["ServerRestore", "FirewallApply"]);
    expect(done[1]?.payload).toMatchObject({ filter: { id: "none" } });
  });

  it("the rules that a job applied are known, although the firewall was detached while it ran", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    const { firewall } = (await attach(id, { server_id: server.id })).body;
    const job = await servers.agent.take("FirewallApply");
    await servers.owned.delete(`/firewalls/${id}/attachments/${firewall.attachments[0].id}`);
    await servers.agent.end(job, { status: "succeeded" });
    expect((await work()).get(server.id)?.filter).toMatchObject({ id: "none" });
  });

  it("re-applied, its servers are checked and corrected, whatever they are reported to have", async () => {
    const [server, other] = [await servers.createRunning(), await servers.createRunning()];
    const { id } = await make();
    expect((await servers.owned.post(`/firewalls/${id}/apply`)).status).toBe(200);
    await attach(id, { server_id: server.id });
    await work();
    const again = await servers.owned.post(`/firewalls/${id}/apply`);
    expect(again.status).toBe(202);
    expect(again.body.job).toMatchObject({ kind: "FirewallApply", resource: { id: server.id } });
    expect(again.body.job_ids).toHaveLength(1);
    // Its open job compares anyway.
    expect((await servers.owned.post(`/firewalls/${id}/apply`)).status).toBe(200);
    await servers.agent.fail(await servers.agent.take("FirewallApply"), "vm_not_ours");
    expect((await get(id)).attachments).toMatchObject([{ status: "failed" }]);
    expect((await servers.owned.post(`/firewalls/${id}/apply`)).status).toBe(202);
    expect([...(await work()).keys()]).toEqual([server.id]);
    expect((await get(id)).attachments).toMatchObject([{ status: "applied" }]);
    expect((await servers.server(other.id)).status).toBe("running");
  });

  it("an agent without support for filters has applied none", async () => {
    const { subnet_id } = (await servers.createRunning()).interfaces[0];
    const { id } = await make();
    await attach(id, { subnet_id });
    await work();
    await servers.create({ subnet_id });
    const job = await servers.agent.take("ServerCreate");
    const { report } = servers.agent;
    await report.call(servers.agent, job, {
      phase: "verify",
      outcome: { status: "succeeded", observed: { power_state: "on" } },
    });
    expect((await get(id)).attachments).toMatchObject([{ status: "pending" }]);
    expect((await servers.agent.work()).map(({ kind }) => kind)).toEqual(["FirewallApply"]);
    expect((await get(id)).attachments).toMatchObject([{ status: "applied" }]);
  });

  it("rules about servers follow labels, attachments and addresses", async () => {
    const web = await servers.createRunning({ labels: { tier: "asking" } });
    const db = await servers.createRunning();
    const { id } = await make([{ ...ssh, ports: ["5432"], peers: [{ label_selector: "tier=asking" }] }]);
    await attach(id, { server_id: db.id });
    const [before] = (await work()).get(db.id)?.filter?.rules ?? [];
    expect(before).toMatchObject({ side: "private", addresses: [web.interfaces[0].private_ip] });
    await servers.owned.patch(`/servers/${web.id}`, { labels: { tier: null } });
    await servers.refreshFilters();
    expect((await work()).get(db.id)?.filter?.rules).toEqual([]);
    const { server } = await servers.create({ labels: { tier: "asking" } });
    await work();
    await servers.refreshFilters();
    const [after] = (await work()).get(db.id)?.filter?.rules ?? [];
    expect(after?.addresses).toEqual([(await servers.server(server.id)).interfaces[0].private_ip]);
  });

  it("detached, the server is as open as before", async () => {
    const server = await servers.createRunning();
    const { id } = await make();
    const { firewall } = (await attach(id, { server_id: server.id })).body;
    await work();
    const answer = await servers.owned.delete(`/firewalls/${id}/attachments/${firewall.attachments[0].id}`);
    expect(answer.status).toBe(202);
    expect((await work()).get(server.id)?.filter).toEqual({ id: "none", is_filtered: false, rules: [] });
    expect(
      await servers.rows("select filter_wanted, filter_applied from server where id = $1", [server.id]),
    ).toEqual([{ filter_wanted: "", filter_applied: "" }]);
  });
});

describe("a subnet or a network", () => {
  it("cannot be deleted while a firewall is attached to it or a rule names it", async () => {
    const { network } = (await servers.owned.post("/networks", { name: "kept", region: servers.region }))
      .body;
    const subnets = `/networks/${network.id}/subnets`;
    const { subnet } = (await servers.owned.post(subnets, { name: "app", tier: "app" })).body;
    const { id } = await make([{ ...ssh, peers: [{ subnet_id: subnet.id }, { network_id: network.id }] }]);
    const attached = (await attach(id, { subnet_id: subnet.id })).body.firewall.attachments[0];
    expect(attached.name).toBe("kept/app");
    const blind = await servers.world.addToken(servers.organisation.id, "viewer", ["firewall:read"]);
    expect((await blind.get(`/firewalls/${id}`)).body.attachments).toMatchObject([
      { subnet_id: subnet.id, name: null },
    ]);
    const refused = { code: "in_use", precondition: { resource: id } };
    expect((await servers.owned.delete(`${subnets}/${subnet.id}`)).body).toMatchObject(refused);
    await servers.owned.delete(`/firewalls/${id}/attachments/${attached.id}`);
    expect((await servers.owned.delete(`${subnets}/${subnet.id}`)).body).toMatchObject(refused);
    await servers.owned.put(`/firewalls/${id}/rules`, {
      rules: [{ ...ssh, peers: [{ network_id: network.id }] }],
    });
    expect((await servers.owned.delete(`${subnets}/${subnet.id}`)).status).toBe(204);
    expect((await servers.owned.delete(`/networks/${network.id}`)).body).toMatchObject(refused);
    await servers.owned.put(`/firewalls/${id}/rules`, { rules: [] });
    expect((await servers.owned.delete(`/networks/${network.id}`)).status).toBe(204);
  });
});

describe("what is deleted between the check and the write", () => {
  it("is refused as a peer and as a target", async () => {
    const { id } = await make();
    /** While the other transaction is open the row can be read, and a reference to it waits for its end. */
    const goneMeanwhile = async (sql: string, what: string, ask: () => Promise<Answer>) => {
      const client = await servers.owner.connect();
      try {
        await client.query("begin");
        await client.query(sql, [what]);
        const answer = ask();
        await expect
          .poll(async () => (await servers.rows("select 1 from pg_locks where not granted")).length)
          .toBeGreaterThan(0);
        await client.query("commit");
        return await answer;
      } finally {
        client.release(true);
      }
    };
    const gone = await make();
    await servers.owned.put(`/firewalls/${gone.id}/rules`, { rules: [] });
    const added = await goneMeanwhile("delete from firewall where id = $1", gone.id, () =>
      servers.owned.post(`/firewalls/${id}/rules`, { ...ssh, peers: [{ firewall_id: gone.id }] }),
    );
    expect([added.status, added.body.errors?.[0]?.code]).toEqual([422, "not_found"]);
    expect((await get(id)).rules).toHaveLength(1);
  });
});

describe("too many", () => {
  it("too many rules of one server are refused, from whichever change", async () => {
    const server = await servers.createRunning();
    const full = Array.from({ length: 100 }, (_, index) => ({ ...ssh, ports: [String(1000 + index)] }));
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await make(full)).id);
    for (const id of ids) expect((await attach(id, { server_id: server.id })).status).toBeLessThan(300);
    const more = await make();
    const refused = { code: "quota_exceeded", precondition: { resource: server.id } };
    expect((await attach(more.id, { server_id: server.id })).body).toMatchObject(refused);
    expect((await get(more.id)).attachments).toEqual([]);
    const { body } = await servers.owned.post(`/firewalls/${ids[0]}/rules`, ssh);
    expect(body).toMatchObject({ code: "quota_exceeded", precondition: { resource: ids[0] } });
  });

  it("too many firewalls in a region are refused, and the last place is used once", async () => {
    const { organisation, owner } = await withOrganisation();
    const names = Array.from({ length: 98 }, (_, index) => `filler-${index}`);
    await servers.rows(
      "insert into firewall (id, organisation_id, region, name) select 'fw_' || n, $1, $2, n from unnest($3::text[]) n",
      [organisation, servers.region, names],
    );
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => owner.post("/firewalls", { name: `last-${n}`, region: servers.region })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409]);
  });
});

async function withOrganisation() {
  const { id, owner } = await servers.world.addOrganisation("many");
  return { organisation: id, owner };
}

describe("two changes at once", () => {
  it("each see what the other has written", async () => {
    const server = await servers.createRunning();
    const firewalls = await Promise.all([
      make(),
      make([{ ...ssh, ports: ["80"] }]),
      make([{ ...ssh, ports: ["443"] }]),
    ]);
    await Promise.all(firewalls.map(({ id }) => attach(id, { server_id: server.id })));
    const told = await work();
    expect(told.get(server.id)?.filter?.rules).toHaveLength(3);
    await servers.refreshFilters();
    expect(await servers.agent.claim()).toBeNull();
  });
});

describe("questions", () => {
  it("a firewall shows what it alone would do, attached or not", async () => {
    const server = await servers.createRunning();
    const { id, rules } = await make();
    const ask = async (port: number, more: object = {}) =>
      (
        await servers.owned.post(`/firewalls/${id}/test`, {
          from: { address: "198.51.100.7" },
          to: { server_id: server.id },
          protocol: "tcp",
          port,
          ...more,
        })
      ).body;
    expect(await ask(22)).toMatchObject({ verdict: "allowed", rule: { id: rules[0].id } });
    expect(await ask(80)).toMatchObject({ verdict: "denied", rule: null });
    expect(await ask(80, { from: { server_id: server.id }, to: { address: "198.51.100.7" } })).toMatchObject({
      verdict: "allowed",
    });
  });

  it("a network explains who reaches whom, and what decides", async () => {
    const web = await servers.createRunning();
    const db = await servers.createRunning();
    const network = web.interfaces[0].network_id;
    const ask = async (from: object, to: object, port = 22) =>
      (await servers.owned.post(`/networks/${network}/explain`, { from, to, protocol: "tcp", port })).body;
    const ends = [{ server_id: web.id }, { server_id: db.id }] as const;
    expect(await ask(...ends)).toMatchObject({ verdict: "allowed", decided_by: { type: "subnet" } });
    expect(await ask(ends[0], { address: "198.51.100.7" })).toMatchObject({
      verdict: "denied",
      decided_by: { type: "gateway", resource: null },
    });
    const { id, rules } = await make();
    await attach(id, { server_id: db.id });
    expect(await ask(...ends)).toMatchObject({
      verdict: "allowed",
      decided_by: { type: "firewall_rule", resource: id, rule_id: rules[0].id },
    });
    expect(await ask(...ends, 80)).toMatchObject({
      verdict: "denied",
      decided_by: { type: "firewall_default" },
    });
    expect(
      (
        await servers.owned.post(`/networks/${network}/explain`, {
          from: ends[0],
          to: ends[1],
          protocol: "tcp",
        })
      ).body.errors,
    ).toMatchObject([{ pointer: "/port" }]);
  });
});
