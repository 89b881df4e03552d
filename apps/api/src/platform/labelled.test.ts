import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerWorld } from "../testing/server-world.ts";
import { labelledRows } from "./labelled.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

const found = (selector: string, organisationId = world.organisation.id) =>
  labelledRows(world.world.replica.deps.db, "server", organisationId, selector);

test("servers are found by the labels that a selector asks for, in their own organisation only", async () => {
  const make = async (labels: object, caller = world.owned): Promise<string> =>
    (await world.create({ labels }, caller)).server.id;
  const web = await make({ role: "web", env: "production" });
  const db = await make({ role: "db", env: "production" });
  await make({});
  const other = await world.world.addOrganisation("other");
  const foreign = await make({ role: "web" }, other.owner);

  expect(await found("role=web")).toEqual([web]);
  expect(await found("role=web", other.id)).toEqual([foreign]);
  expect(new Set(await found("env"))).toEqual(new Set([web, db]));
  expect(await found("env,role=db")).toEqual([db]);
  expect(new Set(await found("role in (web,db,queue)"))).toEqual(new Set([web, db]));
  expect(await found("role in (web,db),env=production,role=db")).toEqual([db]);
  expect(await found("role=nothing")).toEqual([]);
  // A value is not taken for a key, nor a part of one for the whole.
  expect(await found("web")).toEqual([]);
  expect(await found("rol")).toEqual([]);

  // Conditions that every row without a label meets have no index.
  for (const selector of ["", "!role", "role!=web", "role notin (web)", "=="])
    expect(await found(selector), selector).toBeNull();

  await world.owned.patch(`/servers/${web}`, { labels: { role: "db" } });
  expect(await found("role=web")).toEqual([]);
  expect(new Set(await found("role=db"))).toEqual(new Set([web, db]));
});

test("a transaction of one organisation finds nothing of another", async () => {
  const { server } = await world.create({ labels: { role: "cache" } });
  const client = await world.owner.connect();
  await client.query("begin; set local role kule_api");
  const idsAs = async (organisation: string) => {
    await client.query("select set_config('app.organisation', $1, true)", [organisation]);
    const { rows } = await client.query("select id from kule_labelled_server($1, $2, null, 10) id", [
      world.organisation.id,
      ["role=cache"],
    ]);
    return rows.map(({ id }) => id);
  };
  expect(await idsAs(world.organisation.id)).toEqual([server.id]);
  expect(await idsAs("org_other")).toEqual([]);
  await client.query("rollback");
  client.release();
});
