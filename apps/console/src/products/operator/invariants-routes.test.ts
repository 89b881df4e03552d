import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let grace: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  grace = await world.signedIn("grace");
});
afterEach(() => world.stop());

/** What the page says when all is well. */
async function allHold(): Promise<string> {
  const { checked } = await done(world.real.operator.get("/operator/invariants"));
  expect(checked.length).toBeGreaterThan(10);
  return `All ${checked.length} checks hold`;
}

test("the report lists the checks that ran, and those that did not", async () => {
  await world.real.checkInvariants();
  const page = await grace.page("/operator/invariants");
  for (const text of [
    await allHold(),
    "in order",
    "Organisations never meet",
    "quotas count what there is",
    "needs a journal of all effects",
    "All rows read since",
  ])
    expect(page).toContain(text);
  expect(page).not.toContain("What is broken");
});

test("a violated invariant is reported with its place and its start", async () => {
  await world.real.sql("insert into quota_count (organisation_id, resource, amount) values ($1, $2, 3)", [
    world.facts.acme.id,
    "<b>tower",
  ]);
  await world.real.checkInvariants();
  await world.real.sql(
    "update invariant_report set violations = jsonb_set(violations, '{0,since}', to_jsonb($1::text))",
    [new Date(Date.now() - 3600_000).toISOString()],
  );
  const page = await grace.page("/operator/invariants");
  for (const text of ["1 broken", "counts 3 &lt;b&gt;tower", "1 hour ago"]) expect(page).toContain(text);
  expect(page).toMatch(/id="promise-I9" open/);
  expect(page).not.toMatch(/id="promise-I11" open/);
});

test("an old report or a missing report does not count as a good one", async () => {
  expect(await grace.page("/operator/invariants")).toContain("The worker has not checked yet");
  await world.real.checkInvariants();
  await world.real.sql("update invariant_report set checked_at = checked_at - interval '1 day'");
  const old = await grace.page("/operator/invariants");
  expect(old).toContain("The last check is too old");
  expect(old).not.toContain("checks hold");
});

/** Until the worker has been asked for a check. */
async function requested(): Promise<void> {
  const asked = "select from graphile_worker.jobs where key = 'check_invariants'";
  while ((await world.real.sql(asked)).length === 0);
}

test("a check can be requested; when no worker answers, the last result stays and the page says so", async () => {
  const fresh = grace.page("/operator/invariants?fresh=true");
  await requested();
  await world.real.checkInvariants();
  const held = await allHold();
  expect(await fresh).toContain(held);
  expect(world.api.calls).toContain("GET /operator/invariants?fresh=true");

  world.api.awayFor = /\?fresh=true$/;
  const answer = await grace.get("/operator/invariants?fresh=true");
  expect(answer.status).toBe(503);
  const page = await answer.text();
  expect(page).toContain("No worker has answered yet");
  expect(page).toContain(held);
});

test("a requested check may take as long as the API waits for it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const fresh = grace.get("/operator/invariants?fresh=true");
    await requested();
    // By seconds, each with time for real answers: a connection that says nothing for long is given up.
    for (let seconds = 0; seconds < 29; seconds++) {
      await vi.advanceTimersByTimeAsync(1_000);
      await world.real.sql("select");
    }
    await world.real.checkInvariants();
    const answer = await fresh;
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(await allHold());
  } finally {
    vi.useRealTimers();
  }
});
