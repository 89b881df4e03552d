import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
let pools = 0;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterEach(async () => {
  await world.passBackoff();
  await world.agent.work();
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

/** A server with a public address, whose second job for its rules is queued. */
async function waiting() {
  pools += 1;
  const { operator } = world.world;
  const pool = await operator.post("/ip-pools", {
    region: world.region,
    name: `pool-${pools}`,
    gateway: `100.80.${pools}.1`,
    prefix_length: 24,
  });
  await operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr: `100.80.${pools}.0/28` });
  await operator.post(`/ip-pools/${pool.body.id}/allocations`, {
    organisation_id: world.organisation.id,
    count: 1,
  });
  const server = await world.createRunning({ public_ip: "auto" });
  const { body } = await world.owned.post("/firewalls", {
    name: `fw-${pools}`,
    region: world.region,
    rules: [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }] }],
  });
  const firewall = body.firewall.id as string;
  const attached = await world.owned.post(`/firewalls/${firewall}/attachments`, { server_id: server.id });
  const job = attached.body.job.id as string;
  await world.agent.end(await world.agent.take("FirewallApply"), { status: "retry" });
  // Its backoff is long.
  await world.rows("update job set run_at = clock_timestamp() + interval '1 hour' where id = $1", [job]);
  return { server, ip: server.public_ips[0].id as string, firewall, job };
}
const stateOf = async (firewall: string) =>
  (await world.owned.get(`/firewalls/${firewall}`)).body.attachments[0].status;
const detach = (ip: string) => world.owned.post(`/public-ips/${ip}/detach`);
const rebuild = ({ id, name }: { id: string; name: string }) =>
  world.owned.post(`/servers/${id}/rebuild`, { image: "debian-13", confirm_name: name });

describe("a queued job of a server's firewalls", { timeout: 60_000 }, () => {
  it("is superseded by a detach, which applies the rules", async () => {
    const { server, ip, firewall, job } = await waiting();
    expect((await world.owned.get(`/public-ips/${ip}`)).body.actions.detach).toMatchObject({ allowed: true });
    expect((await detach(ip)).status).toBe(202);
    expect(await world.job(job)).toMatchObject({ status: "cancelled", error: { code: "superseded" } });
    const taken = await world.agent.take("PublicIpDetach");
    expect(taken.payload).toMatchObject({
      server: { id: server.id },
      filter: { rules: [{ ports: ["22"] }] },
    });
    expect(await stateOf(firewall)).toBe("pending");
    await world.agent.succeed(taken);
    expect(await stateOf(firewall)).toBe("applied");
    expect(await world.agent.claim()).toBeNull();
  });

  it("is superseded by an attach as well, on the former and the new server", async () => {
    const { server, ip, firewall } = await waiting();
    const other = await waiting();
    expect((await detach(other.ip)).status).toBe(202);
    await world.agent.work();
    await world.owned.put(`/firewalls/${other.firewall}/rules`, {
      rules: [{ protocol: "udp", ports: ["53"], peers: [{ any: true }] }],
    });
    const moved = await world.owned.post(`/public-ips/${ip}/attach`, {
      server_id: other.server.id,
      force: true,
    });
    expect(moved.status).toBe(202);
    const done = await world.agent.work();
    expect(done.map(({ kind, payload }) => [kind, payload.server.id])).toEqual([
      ["PublicIpDetach", server.id],
      ["PublicIpAttach", other.server.id],
    ]);
    expect([await stateOf(firewall), await stateOf(other.firewall)]).toEqual(["applied", "applied"]);
  });

  it("is superseded by a rebuild", async () => {
    const { server, firewall, job } = await waiting();
    expect((await world.server(server.id)).actions.rebuild).toMatchObject({ allowed: true });
    expect((await rebuild(server)).status).toBe(202);
    expect(await world.job(job)).toMatchObject({ status: "cancelled", error: { code: "superseded" } });
    const done = await world.agent.work();
    expect(done.map(({ kind }) => kind)).toEqual(["ServerRebuild"]);
    expect(done[0]?.payload).toMatchObject({ filter: { rules: [{ ports: ["22"] }] } });
    expect(await stateOf(firewall)).toBe("applied");
  });

  it("is queued again when the job that superseded it fails: no rule is lost", async () => {
    const { server, ip, firewall } = await waiting();
    await detach(ip);
    await world.agent.fail(await world.agent.take("PublicIpDetach"), "region_busy");
    expect(await stateOf(firewall)).toBe("pending");
    // A repeated request does not wait for it.
    expect((await detach(ip)).status).toBe(202);
    await world.agent.fail(await world.agent.take("PublicIpDetach"), "region_busy");
    const next = await world.agent.take("FirewallApply");
    expect(next.payload).toMatchObject({ server: { id: server.id }, filter: { rules: [{ ports: ["22"] }] } });
    await world.agent.succeed(next);
    expect(await stateOf(firewall)).toBe("applied");
  });

  it("blocks other jobs while an agent runs it, and while it waits those that apply no rules", async () => {
    const { server, ip } = await waiting();
    const { id } = server;
    expect((await world.owned.post(`/servers/${id}/power`, { action: "reboot" })).body.code).toBe(
      "invalid_state",
    );
    await world.passBackoff();
    const running = await world.agent.take("FirewallApply");
    expect((await detach(ip)).body.code).toBe("invalid_state");
    expect((await rebuild(server)).body.code).toBe("invalid_state");
    expect((await world.server(id)).actions.rebuild).toMatchObject({ allowed: false });
    await world.agent.succeed(running);
    expect((await detach(ip)).status).toBe(202);
  });

  it("is not ended by a dry run", async () => {
    const { server, ip, job } = await waiting();
    for (const [path, body] of [
      [`/public-ips/${ip}/detach?dry_run=true`, undefined],
      [`/servers/${server.id}/rebuild?dry_run=true`, { image: "debian-13", confirm_name: server.name }],
    ] as const)
      expect((await world.owned.post(path, body)).body).toMatchObject({ dry_run: true, blockers: [] });
    expect(await world.job(job)).toMatchObject({ status: "queued" });
  });
});
