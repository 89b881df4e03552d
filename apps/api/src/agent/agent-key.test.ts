import { makeSealingKeyPair, openSecret } from "@kule/sealed-secret/sealed-secret";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { registerRegionMetrics } from "../products/regions/index.ts";
import { ServerWorld } from "../testing/server-world.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

const own = makeSealingKeyPair();
const stranger = makeSealingKeyPair();

const report = (publicKey: string) =>
  world.agent.api.post("/agent/health", {
    agent_version: "0.1.0",
    agent_name: "ist1-a",
    hypervisor: { kind: "proxmox", reachable: true },
    public_key: publicKey,
  });
const claim = (publicKey?: string) =>
  world.agent.api.post("/agent/jobs/claim", {
    claim_id: crypto.randomUUID(),
    agent_version: "0.1.0",
    capabilities: ["ServerCreate"],
    ...(publicKey === undefined ? {} : { public_key: publicKey }),
  });
const operator = () => world.world.operator;
const agentKey = async () => (await operator().get(`/regions/${world.region}`)).body.agent_key;
const audited = async (action: string) => (await operator().get(`/audit?action=${action}`)).body.items;
const windows = async () => {
  const { server, job, console_password } = await world.create({ image: "windows-2022", package: "l" });
  const [row] = await world.rows("select sealed_password from server_secret where server_id = $1", [
    server.id,
  ]);
  return { id: server.id as string, job: job.id as string, password: console_password, ...row };
};

describe("the key that passwords of Windows servers are sealed to", () => {
  test("is the first that the region's agent reports", async () => {
    expect(await agentKey()).toBeNull();
    expect((await report(own.publicKey)).body.agent_key).toBe("in_use");
    const server = await windows();
    expect(openSecret(own.privateKey, server.sealed_password, server.id)).toBe(server.password);
    expect(await agentKey()).toMatchObject({
      fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
      pending: null,
    });
    expect(await audited("agent.key_first")).toHaveLength(1);
    const { body } = await claim(own.publicKey);
    expect(body.job).toMatchObject({ id: server.job, payload: { sealed_password: server.sealed_password } });
    await world.agent.api.post(`/agent/jobs/${server.job}/steps`, {
      epoch: 1,
      seq: 1,
      outcome: { status: "succeeded", observed: { power_state: "on" } },
    });
  });

  test("is not replaced by a report with the agent's token alone", async () => {
    expect((await report(stranger.publicKey)).body.agent_key).toBe("waits_for_approval");
    const server = await windows();
    expect(() => openSecret(stranger.privateKey, server.sealed_password, server.id)).toThrow();
    expect(openSecret(own.privateKey, server.sealed_password, server.id)).toBe(server.password);

    const { pending } = await agentKey();
    const [token] = await world.rows("select id from token where region = $1", [world.region]);
    expect(pending).toMatchObject({ token_id: token.id, agent_name: "ist1-a" });
    // Reported every 20 seconds, logged once.
    await report(stranger.publicKey);
    const noted = await audited("agent.key_pending");
    expect(noted).toHaveLength(1);
    expect(noted[0]).toMatchObject({
      resource: world.region,
      details: { fingerprint: pending.fingerprint },
    });
    const { deps } = world.world.replica;
    registerRegionMetrics(deps);
    expect(await deps.metrics.registry.metrics()).toContain(
      `kule_agent_key_pending{region="${world.region}"} 1`,
    );
  });

  test("keeps its jobs waiting, with the reason, while an agent with another key claims", async () => {
    const answer = await claim(stranger.publicKey);
    expect(answer.status).toBe(204);
    const [waiting] = (await world.owned.get("/jobs?status=queued")).body.items;
    expect(waiting).toMatchObject({
      status: "queued",
      attempt: 0,
      error: { code: "agent_key_pending", retryable: true },
    });
    await world.rows("update job set run_at = now() where id = $1", [waiting.id]);
    expect((await claim(own.publicKey)).body.job.id).toBe(waiting.id);
    await world.agent.api.post(`/agent/jobs/${waiting.id}/steps`, {
      epoch: 2,
      seq: 1,
      outcome: { status: "succeeded", observed: { power_state: "on" } },
    });
  });

  test("waits for the region's own agent as well when a claim names no key", async () => {
    const server = await windows();
    await world.rows("update region set agent_key_seen_at = now() - interval '5 minutes' where slug = $1", [
      world.region,
    ]);
    expect((await claim()).status).toBe(204);
    expect((await world.owned.get(`/jobs/${server.job}`)).body.error.code).toBe("agent_key_pending");
    await report(own.publicKey);
    await world.rows("update job set run_at = now() where id = $1", [server.job]);
    expect((await claim()).body.job.id).toBe(server.job);
    await world.agent.api.post(`/agent/jobs/${server.job}/steps`, {
      epoch: 2,
      seq: 1,
      outcome: { status: "succeeded", observed: { power_state: "on" } },
    });
  });

  test("changes when an operator approves the other one, by its fingerprint", async () => {
    const path = `/regions/${world.region}/agent-key`;
    const { fingerprint, pending } = await agentKey();
    const wrong = await operator().post(path, { fingerprint });
    expect([wrong.status, wrong.body.code]).toEqual([409, "invalid_state"]);
    expect((await world.owned.post(path, { fingerprint: pending.fingerprint })).status).toBe(403);
    expect((await world.agent.api.post(path, { fingerprint: pending.fingerprint })).status).toBe(403);

    const answer = await operator().post(path, { fingerprint: pending.fingerprint });
    expect(answer.status).toBe(200);
    expect(answer.body.agent_key).toMatchObject({ fingerprint: pending.fingerprint, pending: null });
    const server = await windows();
    expect(openSecret(stranger.privateKey, server.sealed_password, server.id)).toBe(server.password);
    const [note] = await audited("agent_key.approve");
    expect(note).toMatchObject({ resource: world.region, details: { fingerprint: pending.fingerprint } });
  });

  test("can be refused, and is deleted until it is reported again", async () => {
    const path = `/regions/${world.region}/agent-key/pending`;
    await report(own.publicKey);
    const { pending } = await agentKey();
    expect(pending).not.toBeNull();
    const refused = await operator().delete(path);
    expect([refused.status, refused.body.agent_key.pending]).toEqual([200, null]);
    const again = await operator().delete(path);
    expect([again.status, again.body.code]).toEqual([409, "invalid_state"]);
  });

  test("is one that a secret can be sealed to", async () => {
    const region = await world.world.addRegion("weak");
    for (const publicKey of [
      "AAAA",
      Buffer.alloc(32).toString("base64"),
      Buffer.alloc(33, 7).toString("base64"),
    ]) {
      const answer = await region.agent.post("/agent/health", {
        agent_version: "0.1.0",
        hypervisor: { kind: "proxmox", reachable: true },
        public_key: publicKey,
      });
      expect([answer.status, answer.body.errors?.[0]?.field]).toEqual([422, "public_key"]);
    }
  });

  test("is not lost to a second stranger, nor noted at each of its reports", async () => {
    await report(own.publicKey);
    const before = (await audited("agent.key_pending")).length;
    const { pending } = await agentKey();
    for (let index = 0; index < 5; index++) await report(makeSealingKeyPair().publicKey);
    expect((await agentKey()).pending.fingerprint).toBe(pending.fingerprint);
    expect((await audited("agent.key_pending")).length).toBe(before);
  });
});
