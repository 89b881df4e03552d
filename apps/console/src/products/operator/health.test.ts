import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeInvariants } from "../../testing/fake-invariants.ts";
import { fakeJob } from "../../testing/fake-records.ts";
import { fakeDrift, fakeStuckJob } from "../../testing/fake-regions.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let grace: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
  const { state } = world.api;
  const { last_pass: pass } = state.capacity;
  if (pass === null) throw new Error("no scan");
  state.capacity = { ...state.capacity, last_pass: { ...pass, complete: true, trouble: null } };
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const allWell = "Everything is in order";

/** The links of what is wrong, in the order of the page. */
const findingsIn = (page: string) => {
  const list = /<ul class="rows findings">[\s\S]*?<\/ul>/.exec(page)?.[0] ?? "";
  return [...list.matchAll(/<li data-tone="(\w+)">[\s\S]*?<a href="([^"]*)">\s*([^<]*?)\s*<\/a>/g)].map(
    ([, ...parts]) => parts,
  );
};

function failedJob(finishedAt: Date) {
  return {
    ...fakeJob("ServerPower", "srv_1", "Ada"),
    status: "failed" as const,
    done: true,
    finished_at: finishedAt.toISOString(),
    created_at: finishedAt.toISOString(),
  };
}

test("a healthy installation is one sentence, with its regions and what they have left", async () => {
  const page = await grace.page("/operator");
  expect(page).toContain(allWell);
  expect(findingsIn(page)).toEqual([]);
  for (const text of ["Istanbul 1", "256 GB of 1,536 GB to give", "Has not reported yet"])
    expect(page).toContain(text);
  const turkish = new Visitor(world, { "accept-language": "tr" });
  await turkish.signIn("grace@example.org", "keeps it running");
  expect(await turkish.page("/operator")).toContain("Her şey yolunda");
});

test("what is wrong is listed with the worst first, each with a link to its page", async () => {
  const { state } = world.api;
  const { id, name } = state.organisations[0] ?? { id: "", name: "" };
  state.stuckJobs.push(fakeStuckJob("slow", { id, name }));
  state.jobs.push(failedJob(new Date()));
  state.drift.push(fakeDrift("missing", 20_001), fakeDrift("changed", 20_002));
  const page = await grace.page("/operator");
  expect(page).not.toContain(allWell);
  expect(page).toContain("3 things need attention");
  expect(findingsIn(page)).toEqual([
    ["bad", "/operator/drift", "2 VMs differ from the records"],
    ["warning", "/operator/stuck-jobs", "One job is stuck"],
    ["warning", "/operator/jobs?status=failed", "One job failed in the last 24 hours"],
  ]);
});

test("a region that does not report, has no memory left or was scanned in part is named", async () => {
  const { state } = world.api;
  const [region] = state.regions;
  if (region === undefined || state.capacity.last_pass === null) throw new Error("no region");
  const nodes = state.capacity.nodes.map((node) => ({ ...node, memory_free_mb: 0 }));
  state.capacity = { ...state.capacity, nodes, last_pass: { ...state.capacity.last_pass, complete: false } };
  expect(findingsIn(await grace.page("/operator"))).toEqual([
    ["warning", "/operator/regions#region-ist1", "Istanbul 1 has no memory left for servers"],
    ["warning", "/operator/regions#region-ist1", "The last scan of Istanbul 1 is incomplete"],
  ]);
  Object.assign(region, { status: "unreachable" });
  expect(findingsIn(await grace.page("/operator"))).toEqual([
    ["bad", "/operator/regions#region-ist1", "Istanbul 1 does not report: jobs there wait"],
  ]);
  // As an operator wants it.
  Object.assign(region, { status: "maintenance" });
  expect(findingsIn(await grace.page("/operator")).map(([tone]) => tone)).not.toContain("bad");
});

test("violated invariants are a problem, and a check that is too old or never ran is a warning", async () => {
  const { state } = world.api;
  const violation = {
    invariant: "I4" as const,
    check: "the addresses of a subnet add up",
    subject: "sub_1",
    since: new Date().toISOString(),
  };
  for (const [report, tone, text] of [
    [fakeInvariants([violation]), "bad", "One invariant is violated"],
    [{ ...fakeInvariants(), stale: true }, "warning", "The last check of the invariants is too old"],
    [{ ...fakeInvariants(), checked_at: null }, "warning", "The invariants have not been checked yet"],
  ] as const) {
    state.invariants = report;
    expect(findingsIn(await grace.page("/operator"))).toEqual([[tone, "/operator/invariants", text]]);
  }
});

test("a failed job counts for a day, and longer lists say more than a hundred", async () => {
  const { state } = world.api;
  state.jobs.push(failedJob(new Date(Date.now() - 25 * 3600_000)));
  expect(await grace.page("/operator")).toContain(allWell);
  for (let vmid = 20_000; vmid <= 20_100; vmid += 1) state.drift.push(fakeDrift("changed", vmid));
  const before = world.api.calls.length;
  const page = await grace.page("/operator");
  expect(page).toContain("More than 100 VMs differ from the records");
  const lists = world.api.calls
    .slice(before)
    .filter((call) => /\/(regions|operator\/[a-z-]+)(\?|$)/.test(call));
  for (const call of lists.filter((each) => !each.includes("/invariants"))) expect(call).toContain("limit=");
  expect(lists).toHaveLength(5);
});

test("operators land on the health page, everybody else on the servers, and a page that was asked for comes first", async () => {
  const landing = async (email: string, password: string, path: string) => {
    const visitor = new Visitor(world);
    const address = (await visitor.get(path)).headers.get("location") ?? "";
    const [, returnTo = ""] = /name="return_to" value="([^"]*)"/.exec(await visitor.page(address)) ?? [];
    const answer = await visitor.submit(address, "/sign-in", { email, password, return_to: returnTo });
    return [answer.headers.get("location"), (await visitor.get("/")).headers.get("location")];
  };
  expect(await landing("grace@example.org", "keeps it running", "/")).toEqual(["/operator", "/operator"]);
  expect(await landing("ada@example.org", "correct horse", "/")).toEqual(["/servers", "/servers"]);
  expect(await landing("grace@example.org", "keeps it running", "/ip-pools")).toEqual([
    "/ip-pools",
    "/operator",
  ]);
});
