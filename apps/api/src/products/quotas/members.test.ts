import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

let people = 0;
const password = "a long password of a test";
const email = () => {
  people += 1;
  return `place-${people}@example.org`;
};
const invite = (owner: ApiCaller, to = email()) => owner.post("/invitations", { email: to, role: "viewer" });
const add = (owner: ApiCaller, who = email()) => addMember(owner, { email: who, role: "viewer" });
const limit = async (organisationId: string, members: number | null) => {
  const answer = await world.world.operator.put(`/organisations/${organisationId}/quotas`, {
    limits: { members },
  });
  expect(answer.status).toBe(200);
};
const used = async (owner: ApiCaller): Promise<number> =>
  (await owner.get("/quotas")).body.items.find(({ name }: { name: string }) => name === "members").used;

describe("the quota of members", () => {
  test("refuses the next invitation, with its figures and a fix", async () => {
    const { id, owner } = await world.world.addOrganisation("full");
    await limit(id, 2);
    await add(owner);
    expect((await invite(owner)).status).toBe(201);
    expect(await invite(owner)).toMatchObject({
      status: 409,
      body: {
        code: "quota_exceeded",
        precondition: {
          name: "quota_members",
          quota: { name: "members", limit: 2, used: 2, asked: 1 },
          fix: expect.stringContaining("remove a member, or withdraw an invitation"),
        },
      },
    });
    await limit(id, 3);
    await add(owner);
    await limit(id, null);
    expect((await invite(owner)).status).toBe(201);
  });

  test("reports first an existing member, or an open invitation", async () => {
    const { id, owner } = await world.world.addOrganisation("twice");
    const [there, invited] = [email(), email()];
    await add(owner, there);
    await invite(owner, invited);
    await limit(id, 0);
    expect((await invite(owner, there)).body.code).toBe("already_member");
    expect((await invite(owner, invited)).body.code).toBe("already_invited");
  });

  test("counts a person who accepts an invitation once, and admits them however full the organisation is", async () => {
    const { id, owner } = await world.world.addOrganisation("joined");
    const { secret } = (await invite(owner)).body;
    expect(await used(owner)).toBe(1);
    await limit(id, 0);
    const joined = await new ApiCaller(world.world.app, null).post("/auth/invitation/accept", {
      secret,
      name: "Somebody",
      password,
    });
    expect(joined.status).toBe(200);
    expect(await used(owner)).toBe(1);
  });

  test("has a place again after a removal, a withdrawn or an expired invitation", async () => {
    const { id, owner } = await world.world.addOrganisation("left");
    const { member } = await add(owner);
    const withdrawn = (await invite(owner)).body.invitation;
    const expiring = (await invite(owner)).body.invitation;
    await limit(id, 3);
    expect((await invite(owner)).body.code).toBe("quota_exceeded");
    await owner.delete(`/members/${member.id}`);
    await owner.delete(`/invitations/${withdrawn.id}`);
    await world.rows(
      "update invitation set created_at = created_at - interval '9 days', expires_at = clock_timestamp() - interval '1 second' where id = $1",
      [expiring.id],
    );
    expect(await used(owner)).toBe(0);
    for (let room = 3; room > 0; room -= 1) expect((await invite(owner)).status).toBe(201);
    expect((await invite(owner)).body.code).toBe("quota_exceeded");
  });
});
