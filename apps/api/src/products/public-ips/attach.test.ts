import { findViolations } from "@kule/invariants/find-violations";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";
import { seenAs, TestScanner } from "../../testing/test-scanner.ts";
import { expireRemovalBuffer } from "../../worker/expire-removal-buffer.ts";

let servers: ServerWorld;
let owner: pg.Pool;
let net: string;
let pools = 0;

beforeAll(async () => {
  servers = await ServerWorld.open({ addressQuarantineSeconds: 600, removalBufferSeconds: 3600 });
  owner = new pg.Pool({ connectionString: servers.world.database.ownerUrl, max: 2 });
  net = await addPool({});
});
afterAll(async () => {
  await owner.end();
  await servers.close();
});

/** A pool of the region with its addresses allocated to the organisation; the first three numbers of its addresses. */
async function addPool(more: object): Promise<string> {
  pools += 1;
  const first = `100.90.${pools}`;
  const { operator } = servers.world;
  const pool = await operator.post("/ip-pools", {
    region: servers.region,
    name: `pool ${pools}`,
    gateway: `${first}.1`,
    prefix_length: 24,
    ...more,
  });
  expect(pool.status).toBe(201);
  const range = pool.body.version === 6 ? { cidr: `2001:db8:${pools}::/120` } : { cidr: `${first}.0/24` };
  await operator.post(`/ip-pools/${pool.body.id}/ranges`, range);
  await operator.post(`/ip-pools/${pool.body.id}/allocations`, {
    organisation_id: servers.organisation.id,
    count: 100,
  });
  return first;
}

const take = async (more: object = {}) =>
  (await servers.owned.post("/public-ips", { region: servers.region, ...more })).body;
const ip = async (id: string) => (await servers.owned.get(`/public-ips/${id}`)).body;
const attach = (id: string, server: string, more: object = {}) =>
  servers.owned.post(`/public-ips/${id}/attach`, { server_id: server, ...more });
const detach = (id: string) => servers.owned.post(`/public-ips/${id}/detach`);

/** The hour of the buffer, passed. */
async function endBuffer(server: string): Promise<void> {
  await owner.query("update server set purge_at = now() where id = $1", [server]);
  await expireRemovalBuffer(servers.world.replica.deps, servers.organisation.id, server);
}

/** A running server with an address, and no open job. */
async function withAddress() {
  const server = await servers.createRunning({ public_ip: "auto" });
  return { server: server.id as string, address: server.public_ips[0] };
}

describe("A server that is created with a public address", () => {
  it("shows it in the answer, and its job configures it", async () => {
    const { server, job } = await servers.create({ public_ip: "auto" });
    expect(server.public_ips).toMatchObject([{ version: 4, status: "attaching", requires_reboot: false }]);
    const claimed = await servers.agent.take("ServerCreate");
    expect(claimed.id).toBe(job.id);
    expect(claimed.payload.public_interface).toMatchObject({
      vlan: null,
      addresses: [
        { version: 4, address: server.public_ips[0].address, prefix_length: 24, gateway: `${net}.1` },
      ],
    });
    // The public interface has the default gateway; the private one has none.
    expect(claimed.payload.interfaces[0]?.gateway).toBeNull();
    expect(claimed.payload.public_interface?.mac).not.toBe(claimed.payload.interfaces[0]?.mac);
    await servers.agent.succeed(claimed);
    expect(await ip(server.public_ips[0].id)).toMatchObject({
      status: "attached",
      attached_to: { type: "server", id: server.id },
      requires_reboot: false,
    });
  });

  it("can be given an existing address, and no other server's", async () => {
    const mine = await take();
    const { server } = await servers.create({ public_ip: mine.id });
    expect(server.public_ips).toMatchObject([{ id: mine.id, address: mine.address }]);
    expect(await servers.owned.post("/servers", servers.body({ public_ip: mine.id }))).toMatchObject({
      status: 409,
      body: { code: "already_attached" },
    });
    await servers.agent.work();
    expect(
      (await servers.owned.post("/servers", servers.body({ public_ip: "ip_none" }))).body.errors,
    ).toMatchObject([{ field: "public_ip", code: "not_found" }]);
  });

  it("cannot be in a data subnet, nor get one there later", async () => {
    const network = (
      await servers.owned.post("/networks", { name: "tiers", region: servers.region, cidr: "10.77.0.0/16" })
    ).body.network;
    const data = (await servers.owned.post(`/networks/${network.id}/subnets`, { name: "data", tier: "data" }))
      .body.subnet;
    const before = (await servers.owned.get("/public-ips?limit=200")).body.items.length;
    for (const wanted of ["auto", (await take()).id])
      expect(
        await servers.owned.post("/servers", servers.body({ subnet_id: data.id, public_ip: wanted })),
      ).toMatchObject({
        status: 409,
        body: { code: "tier_forbids_egress", precondition: { resource: data.id } },
      });
    expect((await servers.owned.get("/public-ips?limit=200")).body.items).toHaveLength(before + 1);
    const inside = await servers.createRunning({ subnet_id: data.id });
    const mine = await take();
    expect(await attach(mine.id, inside.id)).toMatchObject({
      status: 409,
      body: { code: "tier_forbids_egress" },
    });
    // Nor by SQL: the commit is refused.
    await expect(
      owner.query("update public_ip set server_id = $1, held_by = $1, is_applied = true where id = $2", [
        inside.id,
        mine.id,
      ]),
    ).rejects.toMatchObject({ constraint: "public_ip_kept" });
  });
});

describe("Attaching", () => {
  it("gives a running server the address, and says whether its guest must reboot for it", async () => {
    const server = await servers.createRunning();
    const mine = await take();
    const answer = await attach(mine.id, server.id);
    expect(answer).toMatchObject({
      status: 202,
      body: {
        public_ip: { status: "attaching", attached_to: { id: server.id } },
        server: { id: server.id, status: "running" },
        job: { kind: "PublicIpAttach", resource: { type: "server", id: server.id } },
      },
    });
    const job = await servers.agent.take("PublicIpAttach");
    expect(job.payload).toMatchObject({
      guest_network: "netplan",
      public_interface: { addresses: [{ address: mine.address }] },
    });
    await servers.agent.end(job, {
      status: "succeeded",
      observed: { power_state: "on", public_network: "next_boot" },
    });
    expect(await ip(mine.id)).toMatchObject({ status: "attached", requires_reboot: true });
    await servers.owned.post(`/servers/${server.id}/power`, { action: "reboot" });
    await servers.agent.work();
    expect(await ip(mine.id)).toMatchObject({ status: "attached", requires_reboot: false });
  });

  it("needs no reboot once a scan of the region has seen one", async () => {
    const { server } = await servers.create();
    const created = await servers.agent.take("ServerCreate");
    await servers.agent.succeed(created, "on");
    const testScanner = new TestScanner(servers.agent.api);
    const look = (guest: object, power: "on" | "off" = "on") =>
      testScanner.look([{ ...seenAs(created), power, guest: { agent: false, ...guest } }], {
        complete: false,
      });
    /** Attaches one that waits for a boot. */
    const waiting = async () => {
      const mine = await take();
      await attach(mine.id, server.id);
      const job = await servers.agent.take("PublicIpAttach");
      await servers.agent.end(job, {
        status: "succeeded",
        observed: { power_state: "on", public_network: "next_boot" },
      });
      expect(await ip(mine.id)).toMatchObject({ requires_reboot: true });
      return mine;
    };
    const away = async (id: string) => {
      await detach(id);
      await servers.agent.work();
    };

    const first = await waiting();
    await look({ uptime_seconds: 3600 });
    await look({ agent: true, addresses: ["10.0.0.9"], uptime_seconds: 3600 });
    // A restart of an hour ago is none since.
    expect(await ip(first.id)).toMatchObject({ status: "attached", requires_reboot: true });
    await look({ agent: true, addresses: ["10.0.0.9", first.address], uptime_seconds: 3600 });
    expect(await ip(first.id)).toMatchObject({ status: "attached", requires_reboot: false });
    await away(first.id);

    const second = await waiting();
    await owner.query(
      "update public_ip set reboot_since = reboot_since - interval '1 minute' where id = $1",
      [second.id],
    );
    await look({ uptime_seconds: 20 });
    expect(await ip(second.id)).toMatchObject({ status: "attached", requires_reboot: false });
    await away(second.id);

    const third = await waiting();
    await look({}, "off");
    expect(await ip(third.id)).toMatchObject({ status: "attached", requires_reboot: false });
    await away(third.id);
    // The VM of these scans never had a public interface.
    await owner.query("delete from drift");
  });

  it("can be simulated with a dry run, a move and a detach as well", async () => {
    const [one, other] = [await servers.createRunning(), await servers.createRunning()];
    const mine = await take();
    const before = await ip(mine.id);
    const jobs = async () => (await owner.query("select count(*)::integer as n from job")).rows[0].n;
    const begun = await jobs();
    const dry = (path: string, body?: object) => servers.owned.post(`/public-ips/${mine.id}/${path}`, body);
    expect(await dry("attach?dry_run=true", { server_id: one.id })).toMatchObject({
      status: 200,
      body: {
        dry_run: true,
        would: {
          public_ip: { id: mine.id, status: "attaching", attached_to: { id: one.id } },
          server: { id: one.id },
          job_kind: "PublicIpAttach",
          created: null,
        },
        blockers: [],
      },
    });
    expect((await dry("detach?dry_run=true")).body).toMatchObject({
      would: null,
      blockers: [{ code: "not_attached" }],
    });
    expect(await ip(mine.id)).toEqual(before);
    await attach(mine.id, one.id);
    await servers.agent.work();
    const attached = await ip(mine.id);
    expect((await dry("attach?dry_run=true", { server_id: other.id })).body).toMatchObject({
      would: null,
      blockers: [{ code: "already_attached" }],
    });
    expect((await dry("attach?dry_run=true", { server_id: other.id, force: true })).body).toMatchObject({
      would: { public_ip: { status: "attaching" }, server: { id: other.id }, job_kind: "PublicIpAttach" },
    });
    expect((await dry("detach?dry_run=true")).body).toMatchObject({
      would: { public_ip: { status: "detaching" }, server: { id: one.id }, job_kind: "PublicIpDetach" },
      blockers: [],
    });
    expect(await ip(mine.id)).toEqual(attached);
    expect(await jobs()).toBe(begun + 1);
    await detach(mine.id);
    await servers.agent.work();
  });

  it("is refused while a job of the server is open, and for a second address of the version", async () => {
    const { server } = await withAddress();
    const [one, other] = [await take(), await take()];
    expect(await attach(one.id, server)).toMatchObject({ status: 409, body: { code: "already_attached" } });
    const { server: young } = await servers.create();
    expect(await attach(other.id, young.id)).toMatchObject({ status: 409, body: { code: "invalid_state" } });
    await servers.agent.work();
    expect((await attach(other.id, young.id)).status).toBe(202);
    expect(await attach(one.id, young.id)).toMatchObject({ status: 409 });
    await servers.agent.work();
  });

  it("puts IPv6 next to IPv4 on one interface", async () => {
    const six = await addPool({ gateway: `2001:db8:${pools + 1}::1`, prefix_length: 64 });
    expect(six).toBeDefined();
    const { server, address } = await withAddress();
    const mine = await take({ version: 6 });
    expect(mine.version).toBe(6);
    expect((await attach(mine.id, server)).status).toBe(202);
    const job = await servers.agent.take("PublicIpAttach");
    expect(job.payload.public_interface?.addresses.map((each) => each.address)).toEqual([
      address.address,
      mine.address,
    ]);
    await servers.agent.succeed(job);
    expect((await servers.server(server)).public_ips).toMatchObject([
      { version: 4, status: "attached" },
      { version: 6, status: "attached" },
    ]);
  });

  it("that fails says why, and is retried by its job or ended by a detach", async () => {
    const server = await servers.createRunning();
    const mine = await take();
    const { job } = (await attach(mine.id, server.id)).body;
    await servers.agent.fail(await servers.agent.take("PublicIpAttach"), "no_public_network");
    expect(await ip(mine.id)).toMatchObject({
      status: "attaching",
      status_reason: { code: "attach_failed", job_id: job.id },
    });
    expect((await servers.owned.post(`/jobs/${job.id}/retry`)).status).toBe(202);
    expect((await ip(mine.id)).status_reason).toBeNull();
    await servers.agent.fail(await servers.agent.take("PublicIpAttach"), "no_public_network");
    expect((await detach(mine.id)).status).toBe(202);
    await servers.agent.work();
    expect(await ip(mine.id)).toMatchObject({ status: "free", attached_to: null, status_reason: null });
  });

  it("that fails is retried in the place of the job that was to correct its rules", async () => {
    const server = await servers.createRunning({});
    const made = await servers.owned.post("/firewalls", { name: "in-the-way", region: servers.region });
    const { id: firewall } = made.body.firewall;
    const attached = await servers.owned.post(`/firewalls/${firewall}/attachments`, { server_id: server.id });
    await servers.agent.work();
    const address = await take();
    const { job } = (await attach(address.id, server.id)).body;
    await servers.agent.fail(await servers.agent.take("PublicIpAttach"), "vm_locked");
    const follower = await servers.agent.take("FirewallApply");
    expect((await servers.job(job.id)).retryable).toBe(false);
    expect((await servers.owned.post(`/jobs/${job.id}/retry`)).status).toBe(409);
    // The VM is as locked for it, and it waits for its next attempt.
    await servers.agent.end(follower, {
      status: "retry",
      error: { code: "vm_locked", message: "locked", step: null },
    });
    expect((await servers.job(job.id)).retryable).toBe(true);
    expect((await servers.owned.post(`/jobs/${job.id}/retry`)).status).toBe(202);
    expect(await servers.job(follower.id)).toMatchObject({
      status: "cancelled",
      error: { code: "superseded" },
    });
    const done = await servers.agent.work();
    expect(done.map(({ kind }) => kind)).toEqual(["PublicIpAttach"]);
    expect((await servers.owned.get(`/firewalls/${firewall}`)).body.attachments).toMatchObject([
      { status: "applied" },
    ]);
    const [{ id }] = attached.body.firewall.attachments;
    await servers.owned.delete(`/firewalls/${firewall}/attachments/${id}`);
    await servers.agent.work();
  });
});

describe("Moving", () => {
  it("removes the address from the one server before the other gets it", async () => {
    const { server: from, address } = await withAddress();
    const to = await servers.createRunning();
    expect(await attach(address.id, to.id)).toMatchObject({
      status: 409,
      body: { code: "already_attached" },
    });
    const answer = await attach(address.id, to.id, { force: true });
    expect(answer).toMatchObject({
      status: 202,
      body: { public_ip: { attached_to: { id: to.id } }, job: { kind: "PublicIpAttach" } },
    });
    // The attach waits for the detach.
    const first = await servers.agent.take("PublicIpDetach");
    expect(first.payload).toMatchObject({ server: { id: from }, public_interface: null });
    expect(await servers.agent.claim()).toBeNull();
    expect((await servers.server(from)).public_ips).toEqual([]);
    await servers.agent.succeed(first);
    const second = await servers.agent.take("PublicIpAttach");
    expect(second.id).toBe(answer.body.job.id);
    expect(second.payload).toMatchObject({
      server: { id: to.id },
      public_interface: { addresses: [{ address: address.address }] },
    });
    await servers.agent.succeed(second);
    expect(await ip(address.id)).toMatchObject({ status: "attached", attached_to: { id: to.id } });
  });

  it("that cannot remove it leaves it on its server", async () => {
    const { server: from, address } = await withAddress();
    const to = await servers.createRunning();
    const { job } = (await attach(address.id, to.id, { force: true })).body;
    await servers.agent.fail(await servers.agent.take("PublicIpDetach"), "vm_not_ours");
    expect(await ip(address.id)).toMatchObject({
      attached_to: { id: from },
      status_reason: { code: "move_failed" },
    });
    expect((await servers.owned.get(`/jobs/${job.id}`)).body).toMatchObject({
      status: "cancelled",
      error: { code: "move_failed" },
    });
    expect(await servers.agent.claim()).toBeNull();
    // Attached again, it is as it was.
    expect((await attach(address.id, from)).status).toBe(202);
    await servers.agent.work();
    expect(await ip(address.id)).toMatchObject({ status: "attached", attached_to: { id: from } });
  });

  it("of one address to many servers at once ends at one of them", async () => {
    const { address } = await withAddress();
    const targets = await Promise.all(Array.from({ length: 4 }, () => servers.create()));
    await servers.agent.work();
    const answers = await Promise.all(
      targets.map(({ server }) => attach(address.id, server.id, { force: true })),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    for (const { status, body } of answers)
      if (status !== 202) expect([409, body.code]).toContainEqual(body.code);
    await servers.agent.work();
    expect((await ip(address.id)).status).toBe("attached");
  });

  it("concurrent with a detach ends as one of the two", async () => {
    for (let round = 0; round < 4; round += 1) {
      const { address } = await withAddress();
      const to = await servers.createRunning();
      const answers = await Promise.all([attach(address.id, to.id, { force: true }), detach(address.id)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
      await servers.agent.work();
      const { status } = await ip(address.id);
      expect(status).toBe(answers[0]?.status === 202 ? "attached" : "free");
    }
  });
});

it("a server never gets an address that another one's VM may still have, whatever job it has", async () => {
  const { server: from, address } = await withAddress();
  const to = await servers.createRunning();
  const six = await take({ version: 6 });
  await attach(address.id, to.id, { force: true });
  // A delete cancels the waiting job, and is cancelled itself before the old server has released the address.
  await servers.owned.delete(`/servers/${to.id}`);
  const only = async (kind: string) => {
    const job = await servers.agent.claim({ capabilities: [kind] });
    if (job === null) throw new Error(`no ${kind}`);
    return job;
  };
  await servers.agent.succeed(await only("ServerStop"), "off");
  await servers.owned.post(`/servers/${to.id}/cancel-deletion`);
  await servers.agent.succeed(await only("ServerRestore"));
  expect((await attach(six.id, to.id)).status).toBe(202);
  const job = await only("PublicIpAttach");
  expect(job.payload).toMatchObject({ public_interface: { addresses: [{ address: six.address }] } });
  await servers.agent.succeed(job);
  const left = await only("PublicIpDetach");
  expect(left.payload.server.id).toBe(from);
  await servers.agent.succeed(left);
  const last = await only("PublicIpAttach");
  expect(last.payload).toMatchObject({
    public_interface: { addresses: [{ address: address.address }, { address: six.address }] },
  });
  await servers.agent.succeed(last);
  expect(await ip(address.id)).toMatchObject({ status: "attached", attached_to: { id: to.id } });
});

describe("A server's removal", () => {
  it("keeps the address in the buffer, and releases it at its end", async () => {
    const { server, address } = await withAddress();
    await servers.owned.delete(`/servers/${server}`);
    await servers.agent.work();
    expect(await ip(address.id)).toMatchObject({ status: "attached" });
    await endBuffer(server);
    await servers.agent.work();
    expect(await ip(address.id)).toMatchObject({ status: "free", attached_to: null });
  });

  it("releases it when configured to", async () => {
    const { server, address } = await withAddress();
    await servers.owned.patch(`/public-ips/${address.id}`, { delete_with_server: true });
    await servers.owned.delete(`/servers/${server}`);
    await servers.agent.work();
    await endBuffer(server);
    await servers.agent.work();
    expect((await servers.owned.get(`/public-ips/${address.id}`)).status).toBe(404);
    const { rows } = await owner.query("select state from public_address where address = $1", [
      address.address,
    ]);
    expect(rows).toEqual([{ state: "quarantined" }]);
  });

  it("that overtakes an attach leaves nothing pending forever: it continues when the server is kept", async () => {
    const server = await servers.createRunning();
    const mine = await take();
    await attach(mine.id, server.id);
    await servers.owned.delete(`/servers/${server.id}`);
    await servers.agent.work();
    expect((await ip(mine.id)).status).toBe("attaching");
    await servers.owned.post(`/servers/${server.id}/cancel-deletion`);
    await servers.agent.work();
    expect(await ip(mine.id)).toMatchObject({ status: "attached", attached_to: { id: server.id } });
  });

  it("that overtakes a detach does not keep the address from the server that waits for it", async () => {
    const { server: from, address } = await withAddress();
    const to = await servers.createRunning();
    await attach(address.id, to.id, { force: true });
    await servers.owned.delete(`/servers/${from}`);
    await servers.agent.work();
    expect(await ip(address.id)).toMatchObject({ status: "attached", attached_to: { id: to.id } });
  });

  it("that is cancelled leaves an address that cannot be attached with a reason", async () => {
    // Deleted before it was created: no job of it is left.
    const { server } = await servers.create({ public_ip: "auto" });
    const [address] = server.public_ips;
    await servers.owned.delete(`/servers/${server.id}`);
    expect((await servers.owned.post(`/servers/${server.id}/cancel-deletion`)).status).toBe(202);
    expect((await servers.server(server.id)).status).toBe("error");
    expect(await ip(address.id)).toMatchObject({
      status: "attaching",
      status_reason: { code: "attach_failed" },
    });
    expect((await detach(address.id)).status).toBe(202);
    await servers.agent.work();
    expect(await ip(address.id)).toMatchObject({ status: "free", status_reason: null });

    // Deleted while an address was being attached, and then not restored.
    const other = await servers.createRunning({});
    await attach(address.id, other.id);
    await servers.owned.delete(`/servers/${other.id}`);
    await servers.agent.succeed(await servers.agent.take("ServerStop"), "off");
    await servers.owned.post(`/servers/${other.id}/cancel-deletion`);
    await servers.agent.fail(await servers.agent.take("ServerRestore"));
    expect((await servers.server(other.id)).status).toBe("error");
    expect(await ip(address.id)).toMatchObject({
      status: "attaching",
      status_reason: { code: "attach_failed" },
    });
  });

  it("is moved again only when the server that has it has released it", async () => {
    const { server: from, address } = await withAddress();
    const to = await servers.createRunning({});
    const third = await servers.createRunning({});
    await attach(address.id, to.id, { force: true });
    // The server that waits for it is deleted, and has no open job any more; the first still has the address.
    await servers.owned.delete(`/servers/${to.id}`);
    const claims = [await servers.agent.claim(), await servers.agent.claim()];
    const stop = claims.find((job) => job?.kind === "ServerStop");
    const away = claims.find((job) => job?.kind === "PublicIpDetach");
    if (stop == null || away == null) throw new Error("the jobs are others");
    await servers.agent.succeed(stop, "off");
    await servers.agent.end(away, { status: "released" });
    const again = await attach(address.id, third.id, { force: true });
    expect([again.status, again.body.code, again.body.precondition?.resource]).toEqual([
      409,
      "invalid_state",
      from,
    ]);
    const off = await detach(address.id);
    expect([off.status, off.body.code]).toEqual([409, "invalid_state"]);
    expect((await ip(address.id)).actions).toMatchObject({
      attach: { allowed: false, code: "invalid_state" },
      detach: { allowed: false, code: "invalid_state" },
    });
    await servers.agent.work();
    expect((await attach(address.id, third.id, { force: true })).status).toBe(202);
    await servers.agent.work();
    expect(await ip(address.id)).toMatchObject({ status: "attached", attached_to: { id: third.id } });
  });

  it("can be moved to another server while its server is in the buffer", async () => {
    const { server: from, address } = await withAddress();
    await servers.owned.delete(`/servers/${from}`);
    await servers.agent.work();
    const to = await servers.createRunning();
    expect((await attach(address.id, to.id, { force: true })).status).toBe(202);
    await servers.agent.work();
    expect(await ip(address.id)).toMatchObject({ status: "attached", attached_to: { id: to.id } });
  });
});

it("in all of this no invariant was broken", async () => {
  expect(await findViolations(owner)).toEqual([]);
});
