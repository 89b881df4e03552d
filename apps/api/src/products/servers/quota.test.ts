import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open({ removalBufferSeconds: 0 });
});
afterAll(() => world.close());

const limit = async (servers: number | null, organisationId = world.organisation.id) => {
  const answer = await world.world.operator.patch(`/organisations/${organisationId}`, {
    limits: { servers },
  });
  expect([answer.status, answer.body.limits]).toEqual([200, { servers }]);
};

describe("the limit of an organisation's servers", () => {
  test("is set by operators, when it is registered and later, and its members can read it", async () => {
    const made = await world.world.operator.post("/organisations", {
      slug: "small",
      name: "Small",
      limits: { servers: 2 },
    });
    expect([made.status, made.body.limits]).toEqual([201, { servers: 2 }]);
    const owner = await world.world.addToken(made.body.id, "owner");
    expect((await owner.get("/organisation")).body.limits).toEqual({ servers: 2 });
    expect((await owner.patch(`/organisations/${made.body.id}`, { limits: { servers: 9 } })).status).toBe(
      403,
    );
    const renamed = await world.world.operator.patch(`/organisations/${made.body.id}`, { name: "Tiny" });
    expect(renamed.body.limits).toEqual({ servers: 2 });
    expect((await world.world.addOrganisation("free")).id).toBeTruthy();
    expect((await world.owned.get("/organisation")).body.limits).toEqual({ servers: null });
  });

  test("refuses the next create, says how many there are, and a dry run lists it", async () => {
    await world.create();
    await limit(2);
    const last = await world.create();
    const refused = await world.owned.post("/servers", world.body());
    expect(refused).toMatchObject({
      status: 409,
      body: {
        code: "quota_exceeded",
        detail: "The organisation has 2 of at most 2 servers",
        precondition: { name: "quota_servers", resource: world.organisation.id },
      },
    });
    const tried = await world.owned.post("/servers?dry_run=true", world.body());
    expect(tried.body.blockers.map((each: { code: string }) => each.code)).toEqual(["quota_exceeded"]);
    // A deleted server counts until it is destroyed.
    await world.agent.work();
    await world.owned.delete(`/servers/${last.server.id}`);
    expect((await world.owned.post("/servers", world.body())).body.code).toBe("quota_exceeded");
    expect((await world.owned.post(`/servers/${last.server.id}/cancel-deletion`)).status).toBe(202);
    await world.agent.work();
    await limit(3);
    expect((await world.owned.post("/servers?dry_run=true", world.body())).body.blockers).toEqual([]);
    await world.create();
    await limit(1);
    expect((await world.owned.get("/servers")).body.items).toHaveLength(3);
    await limit(null);
    await world.create();
  });

  test("is one organisation's", async () => {
    const other = await world.world.addOrganisation("other");
    await limit(0);
    expect((await other.owner.post("/servers", world.body())).status).toBe(202);
    await limit(0, other.id);
    expect((await other.owner.post("/servers", world.body())).body.code).toBe("quota_exceeded");
  });
});
