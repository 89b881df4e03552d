import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld, type Replica, type TestOrganisation } from "../testing/api-world.ts";
import { mintToken, parseToken } from "./tokens.ts";

describe("the form of a token", () => {
  test.each(["organisation", "operator", "agent", "session"] as const)("an %s token reads back", (kind) => {
    const minted = mintToken(kind);
    expect(parseToken(minted.secret)).toEqual({ id: minted.id, kind, hash: minted.hash });
  });

  test("a token with any one character changed is refused without a query", () => {
    const { secret } = mintToken("organisation");
    for (let at = 0; at < secret.length; at += 1) {
      const changed = `${secret.slice(0, at)}${secret[at] === "7" ? "8" : "7"}${secret.slice(at + 1)}`;
      expect(parseToken(changed), changed).toBeNull();
    }
  });

  test("no random text passes", () => {
    for (let round = 0; round < 20_000; round += 1)
      expect(parseToken(`kule_pat_${randomBytes(48).toString("base64url").slice(0, 65)}`)).toBeNull();
  });
});

describe("who is admitted", () => {
  let world: ApiWorld;
  let acme: TestOrganisation;
  let second: Replica;
  let owner: Client;

  beforeAll(async () => {
    world = await ApiWorld.open();
    acme = await world.addOrganisation("acme");
    second = await world.addReplica();
    owner = new Client({ connectionString: world.database.ownerUrl });
    await owner.connect();
  });
  afterAll(async () => {
    await owner.end();
    await world.close();
  });

  const call = (authorization: string) =>
    new ApiCaller(world.app, null).get("/me", { Authorization: authorization });

  test.each([
    "Bearer ",
    "Bearer kule_pat_x",
    "Basic a3VsZTprdWxl",
    `Bearer ${mintToken("organisation").secret}`,
    "Bearer null",
  ])("%s is 401", async (authorization) => {
    expect((await call(authorization)).status).toBe(401);
  });

  test("a token with the right id and another secret is 401", async () => {
    const real = parseToken(acme.owner.token ?? "");
    const forged = mintToken("organisation");
    await acme.owner.get("/me");
    await owner.query("update token set secret_hash = $1 where id = $2", [forged.hash, real?.id]);
    // Cached for a second at most.
    await expect.poll(async () => (await acme.owner.get("/me")).status, { timeout: 3_000 }).toBe(401);
    await owner.query("update token set secret_hash = $1 where id = $2", [real?.hash, real?.id]);
    await expect.poll(async () => (await acme.owner.get("/me")).status, { timeout: 3_000 }).toBe(200);
  });

  test("a revoked token is refused at every replica within a second", async () => {
    const minted = (await acme.owner.post("/tokens", { name: "short lived" })).body;
    const here = new ApiCaller(world.app, minted.secret);
    const there = here.at(second.app);
    expect([(await here.get("/me")).status, (await there.get("/me")).status]).toEqual([200, 200]);
    expect((await acme.owner.delete(`/tokens/${minted.token.id}`)).status).toBe(204);
    const revokedAt = performance.now();
    expect((await here.get("/me")).status).toBe(401);
    await expect.poll(async () => (await there.get("/me")).status, { interval: 5, timeout: 2_000 }).toBe(401);
    expect(performance.now() - revokedAt).toBeLessThan(1_000);
  });

  test("even when no notification arrives, a revoked token ends within a second", async () => {
    const deaf = await world.addReplica();
    await deaf.deps.notifications.stop();
    const minted = (await acme.owner.post("/tokens", { name: "silentOpeners" })).body;
    const there = new ApiCaller(deaf.app, minted.secret);
    expect((await there.get("/me")).status).toBe(200);
    await acme.owner.delete(`/tokens/${minted.token.id}`);
    const revokedAt = performance.now();
    await expect
      .poll(async () => (await there.get("/me")).status, { interval: 20, timeout: 3_000 })
      .toBe(401);
    expect(performance.now() - revokedAt).toBeLessThan(1_200);
  });

  test("an expired token is refused, by the clock of the day it was minted for", async () => {
    const minted = (await acme.owner.post("/tokens", { name: "old" })).body;
    await owner.query("update token set expires_at = now() - interval '1 second' where id = $1", [
      minted.token.id,
    ]);
    expect((await new ApiCaller(world.app, minted.secret).get("/me")).status).toBe(401);
  });

  test("a token's use is noted to the minute, without holding up the call", async () => {
    const minted = (await acme.owner.post("/tokens", { name: "used" })).body;
    expect(minted.token.last_used_at).toBeNull();
    await new ApiCaller(world.app, minted.secret).get("/me");
    await expect
      .poll(async () => (await acme.owner.get(`/tokens/${minted.token.id}`)).body.last_used_at)
      .toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
  });

  test("a token does no more than its scopes, and the answer names what is missing", async () => {
    const narrow = await world.addToken(acme.id, "admin", ["ssh_key:read", "network:*"]);
    expect((await narrow.get("/ssh-keys")).status).toBe(200);
    const refused = await narrow.post("/ssh-keys", {});
    expect([refused.status, refused.body.required]).toEqual([403, ["ssh_key:create"]]);
    expect((await narrow.get("/me")).body.permissions).toEqual([
      "network:create",
      "network:delete",
      "network:read",
      "network:update",
      "ssh_key:read",
    ]);
  });
});
