import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

type Listed = { readonly id: string; readonly organisation: { readonly id: string } };

async function listed(
  query = "",
): Promise<{ readonly items: Listed[]; readonly next_cursor: string | null }> {
  const answer = await world.world.operator.get(`/operator/jobs${query}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}
const ids = async (query = "") => (await listed(query)).items.map(({ id }) => id);

test("operators see the jobs of all organisations, newest first, narrowed and page by page", async () => {
  const first = await world.create({ name: "first" });
  const other = await world.world.addOrganisation("other");
  const elsewhere = await world.create({ name: "elsewhere" }, other.owner);
  const last = await world.create({ name: "last" });
  const all = [last.job.id, elsewhere.job.id, first.job.id];
  const page = await listed();
  expect(page.items.map(({ id }) => id)).toEqual(all);
  expect(new Set(page.items.map(({ organisation }) => organisation.id)).size).toBe(2);
  expect(page.items[2]).toMatchObject({
    kind: "ServerCreate",
    status: "queued",
    region: "ist1",
    organisation: { id: world.organisation.id, name: expect.any(String) },
    resource: { type: "server", id: first.server.id, name: "first" },
    error: null,
  });

  const one = await listed("?limit=2");
  expect(one.items.map(({ id }) => id)).toEqual(all.slice(0, 2));
  expect(await ids(`?limit=2&cursor=${one.next_cursor}`)).toEqual(all.slice(2));
  expect(await ids("?status=failed")).toEqual([]);
  expect(await ids("?status=queued&status=running")).toEqual(all);
  expect(await ids("?kind=ServerPower")).toEqual([]);
  expect(await ids("?region=nowhere")).toEqual([]);
});

test("only operators see them, and invalid values are refused", async () => {
  expect((await world.owned.get("/operator/jobs")).status).toBe(403);
  expect((await world.world.operator.get("/operator/jobs?status=tired")).status).toBe(422);
});
