import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { servers } from "../../testing/scenes/servers.ts";
import { haveRun } from "../../testing/server-states.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof servers>>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(servers);
  const ran = `/servers/${world.facts.servers["web-1"]}`;
  await haveRun(world.real, ran, "2026-05-03T00:00:00Z", "2026-05-04T12:00:00Z");
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

test("usage is shown for a month, by resource, by day and against the quotas", async () => {
  const limits = { limits: { vcpu: 12 } };
  await done(world.real.operator.put(`/organisations/${world.facts.acme.id}/quotas`, limits));
  const page = await ada.page("/usage?month=2026-05");
  expect(page).toContain("May 2026");
  expect(page).toMatch(/>web-1<\/a>/);
  expect(page).not.toContain(">web-2</a>");
  expect(page).toContain("72 vCPU h");
  expect(page).toContain("4 of 12");
  expect(page).toContain("month=2026-04");
  expect(page).toContain("month=2026-06");
  expect(page).toContain("/usage/export.csv?from=2026-05-01T00%3A00%3A00.000Z");
  expect(page).not.toMatch(/\sstyle=/);
});

test("usage is passed on as files with the session's rights", async () => {
  const window = "from=2026-05-01T00:00:00.000Z&to=2026-06-01T00:00:00.000Z";
  const csv = await ada.get(`/usage/export.csv?${window}`);
  expect(csv.status).toBe(200);
  const [head, ...rows] = (await csv.text()).trim().split("\r\n");
  expect(head).toContain("resource_id");
  expect(rows).toHaveLength(1);
  expect(rows[0]).toContain(world.facts.servers["web-1"]);
  expect(csv.headers.get("content-disposition")).toMatch(/^attachment; filename="[^"]*usage[^"]*\.csv"$/);
  expect(world.api.calls.at(-1)).toMatch(/^GET \/usage\/export\.csv\?from=2026-05-01T00%3A00%3A00.000Z/);
  expect((await ada.get("/usage/export.ndjson")).headers.get("content-type")).toContain("x-ndjson");
  const nobody = await new Visitor(world).get("/usage/export.csv");
  expect(nobody.status).toBe(303);
});
