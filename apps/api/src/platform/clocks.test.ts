import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { issueToken } from "../products/tokens/index.ts";
import { ApiCaller } from "../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation } from "../testing/api-world.ts";

const hourMs = 3_600_000;

/** This process' wall clock goes wrong by so much; timers and the monotonic clock do not. */
function setWallClock(byMs: number): void {
  const real = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => real() + byMs);
}

describe("an API whose wall clock is wrong", () => {
  let world: ApiWorld;
  let organisation: TestOrganisation;
  beforeAll(async () => {
    world = await ApiWorld.open();
    organisation = await world.addOrganisation("acme");
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => world.close());

  const token = (lifetimeSeconds: number) =>
    issueToken(world.replica.deps.db, {
      kind: "organisation",
      name: "short",
      organisationId: organisation.id,
      role: "owner",
      lifetimeSeconds,
    });

  it("accepts a token for as long as Postgres does, two hours ahead", async () => {
    const { secret } = await token(600);
    setWallClock(2 * hourMs);
    expect((await new ApiCaller(world.app, secret).get("/me")).status).toBe(200);
  });

  it("refuses a token that has ended for Postgres, two hours behind", async () => {
    const { secret } = await token(-1);
    setWallClock(-2 * hourMs);
    expect((await new ApiCaller(world.app, secret).get("/me")).status).toBe(401);
  });

  it("rotates a valid token, and none that has ended, whatever its own clock shows", async () => {
    const ended = await token(-1);
    for (const byMs of [2 * hourMs, -2 * hourMs]) {
      vi.restoreAllMocks();
      const live = await token(600);
      setWallClock(byMs);
      const refused = await organisation.owner.post(`/tokens/${ended.row.id}/rotate`, {});
      expect(refused.body.code).toBe("invalid_state");
      const path = `/tokens/${live.row.id}/rotate`;
      expect((await organisation.owner.post(path, { overlap_seconds: 300 })).status).toBe(201);
    }
  });

  it("queries the database about a token again within a second although its clock was set back an hour", async () => {
    const { row, secret } = await token(600);
    const caller = new ApiCaller(world.app, secret);
    expect((await caller.get("/me")).status).toBe(200);
    setWallClock(-hourMs);
    // As if the NOTIFY were lost: a session without triggers, by the owner of the table.

    const owner = new pg.Client({ connectionString: world.database.ownerUrl });
    await owner.connect();
    await owner.query("set session_replication_role = replica");
    await owner.query("update token set revoked_at = clock_timestamp() where id = $1", [row.id]);
    await owner.end();
    await expect.poll(async () => (await caller.get("/me")).status, { timeout: 5_000 }).toBe(401);
  });
});
