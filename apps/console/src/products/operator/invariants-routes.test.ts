import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeInvariants } from "../../testing/fake-invariants.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let grace: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

test("the report lists the checks that ran, and those that did not", async () => {
  const page = await grace.page("/operator/invariants");
  for (const text of [
    "All 4 checks hold",
    "in order",
    "Organisations never meet",
    "the addresses of a subnet",
  ])
    expect(page).toContain(text);
  expect(page).toContain("needs a journal of effects");
  expect(page).not.toContain("What is broken");
});

test("a violated invariant is reported with its place and its start", async () => {
  world.api.state.invariants = fakeInvariants([
    {
      invariant: "I4",
      check: "no address is given out twice",
      subject: "10.0.0.4 <b>",
      since: new Date(Date.now() - 3600_000).toISOString(),
    },
  ]);
  const page = await grace.page("/operator/invariants");
  for (const text of ["1 broken", "10.0.0.4 &lt;b&gt;", "1 hour ago"]) expect(page).toContain(text);
  expect(page).toMatch(/id="promise-I4" open/);
  expect(page).not.toMatch(/id="promise-I11" open/);
});

test("an old report or a missing report does not count as a good one", async () => {
  world.api.state.invariants = { ...fakeInvariants(), stale: true };
  const old = await grace.page("/operator/invariants");
  expect(old).toContain("The last check is too old");
  expect(old).not.toContain("checks hold");
  world.api.state.invariants = { ...fakeInvariants(), checked_at: null, stale: true, checked: [] };
  expect(await grace.page("/operator/invariants")).toContain("The worker has not checked yet");
});

test("a check can be requested; when no worker answers, the last result stays and the page says so", async () => {
  expect(await grace.page("/operator/invariants?fresh=true")).toContain("All 4 checks hold");
  expect(world.api.calls).toContain("GET /operator/invariants?fresh=true");
  world.api.state.workerIsAway = true;
  const answer = await grace.get("/operator/invariants?fresh=true");
  expect(answer.status).toBe(503);
  const page = await answer.text();
  expect(page).toContain("No worker has answered yet");
  expect(page).toContain("All 4 checks hold");
});
