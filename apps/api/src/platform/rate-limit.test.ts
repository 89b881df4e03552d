import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld } from "../testing/api-world.ts";
import { ed25519Line } from "../testing/ssh-key-lines.ts";
import { RateLimiter } from "./rate-limit.ts";

describe("a bucket", () => {
  const limit = { perHour: 3600, burst: 3 };

  test("allows its burst at once and then its rate", () => {
    let now = 0;
    const limiter = new RateLimiter(() => now);
    const take = () => limiter.take("a", limit).allowed;
    expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
    now += 999;
    expect(take()).toBe(false);
    now += 1;
    expect([take(), take()]).toEqual([true, false]);
    now += 3_600_000;
    expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
  });

  test("reports how much is left, when it is full again and when to retry", () => {
    const limiter = new RateLimiter(() => 0);
    expect(limiter.take("a", limit).headers).toEqual({
      "RateLimit-Limit": "3600",
      "RateLimit-Remaining": "2",
      "RateLimit-Reset": "1",
    });
    limiter.take("a", limit);
    limiter.take("a", limit);
    expect(limiter.take("a", { ...limit, perHour: 36 }).retryAfterSeconds).toBe(100);
  });

  test("is its caller's own", () => {
    const limiter = new RateLimiter(() => 0);
    for (let call = 0; call < 5; call += 1) limiter.take("loud", limit);
    expect(limiter.take("quiet", limit).allowed).toBe(true);
  });

  test("that is empty is not evicted for new callers", () => {
    const limiter = new RateLimiter(() => 0, 10);
    for (let call = 0; call < 3; call += 1) limiter.take("loud", limit);
    for (let caller = 0; caller < 100; caller += 1) limiter.take(`caller ${caller}`, limit);
    expect(limiter.take("loud", limit).allowed).toBe(false);
  });
});

describe("over HTTP", () => {
  let world: ApiWorld;
  beforeAll(async () => {
    world = await ApiWorld.open({ rateLimitPerHour: 36, rateLimitBurst: 4 });
  });
  afterAll(() => world.close());

  test("a caller beyond the limit gets 429 and Retry-After; an agent has a bucket of its own", async () => {
    const region = await world.addRegion("r1");
    const last = [];
    for (let call = 0; call < 4; call += 1) last.push(await world.operator.get("/me"));
    const refused = last.at(-1);
    expect(refused?.status).toBe(429);
    expect(refused?.body.code).toBe("rate_limited");
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(last[0]?.headers.get("ratelimit-limit")).toBe("36");
    for (let call = 0; call < 20; call += 1) expect((await region.agent.get("/me")).status).toBe(200);
  });

  test("guessing tokens is limited too", async () => {
    const guesser = new ApiCaller(world.app, null);
    const statuses = [];
    for (let call = 0; call < 6; call += 1)
      statuses.push((await guesser.get("/me", { Authorization: `Bearer wrong${call}` })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
  });
});

describe("what an organisation creates", () => {
  let world: ApiWorld;
  beforeAll(async () => {
    world = await ApiWorld.open({ createLimitPerHour: 60, createLimitBurst: 5 });
  });
  afterAll(() => world.close());

  test("is counted for all its tokens together, and for no other organisation", async () => {
    const [acme, umbrella] = [await world.addOrganisation("acme"), await world.addOrganisation("umbrella")];
    const callers = [
      acme.owner,
      await world.addToken(acme.id, "member"),
      await world.addToken(acme.id, "admin"),
    ];
    const make = async (caller: ApiCaller | undefined, headers: Record<string, string> = {}) =>
      await caller?.post("/ssh-keys", { name: ed25519Line().slice(-20), public_key: ed25519Line() }, headers);
    const key = { "Idempotency-Key": "first" };
    const body = { name: "first", public_key: ed25519Line() };
    expect((await acme.owner.post("/ssh-keys", body, key)).status).toBe(201);
    for (let call = 0; call < 4; call += 1) expect((await make(callers[call % 3]))?.status).toBe(201);
    for (const caller of callers) {
      const refused = await make(caller);
      expect(refused?.status).toBe(429);
      expect(refused?.body.code).toBe("rate_limited");
      expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(50);
    }
    // Replays, invalid requests, reads, changes and dry runs are still answered.
    expect((await acme.owner.post("/ssh-keys", body, key)).status).toBe(201);
    expect((await acme.owner.post("/ssh-keys", {})).status).toBe(422);
    expect((await acme.owner.get("/ssh-keys")).status).toBe(200);
    expect((await acme.owner.patch(`/organisations/${acme.id}`, { name: "Acme" })).status).not.toBe(429);
    expect((await make(umbrella.owner))?.status).toBe(201);
  });
});
