import { afterEach, beforeEach, expect, test } from "vitest";
import { formatOf } from "../../messages/format.ts";
import { addDrift } from "../../testing/many-rows.ts";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { haveRestore } from "../../testing/region-troubles.ts";
import { capacityWith, createSeen, foreignVm, scan } from "../../testing/scans.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let grace: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  grace = await world.signedIn("grace");
  // Its agent has never reported.
  await done(world.real.operator.patch("/regions/ank1", { maintenance: true }));
  await world.real.checkInvariants();
});
afterEach(() => world.stop());

const allWell = "Everything is in order";

/** The links of what is wrong, in the order of the page. */
const findingsIn = (page: string) => {
  const list = /<ul class="rows findings">[\s\S]*?<\/ul>/.exec(page)?.[0] ?? "";
  return [...list.matchAll(/<li data-tone="(\w+)">[\s\S]*?<a href="([^"]*)">\s*([^<]*?)\s*<\/a>/g)].map(
    ([, ...parts]) => parts,
  );
};

/** A job of the server that failed, and one after it that did not: nobody has to look at it. */
async function failOnce(path: string): Promise<string> {
  const { acme, agent } = world.real;
  const { job } = await done(acme.post(`${path}/power`, { action: "reboot" }));
  await agent.fail(await agent.take("ServerPower"));
  await done(acme.post(`${path}/power`, { action: "stop" }));
  await agent.work();
  return job.id;
}

test("a healthy installation is one sentence, with its regions and what they have left", async () => {
  const { nodes } = await done(world.real.operator.get("/regions/ist1/capacity"));
  const free = nodes.reduce((sum: number, node: { memory_free_mb: number }) => sum + node.memory_free_mb, 0);
  const page = await grace.page("/operator");
  expect(page).toContain(allWell);
  expect(findingsIn(page)).toEqual([]);
  for (const text of [
    "Istanbul 1",
    `${formatOf("en").memory(free)} of 1,536 GB to give`,
    "Has not reported yet",
  ])
    expect(page).toContain(text);
  const turkish = await world.signedIn("grace", { "accept-language": "tr" });
  expect(await turkish.page("/operator")).toContain("Her şey yolunda");
});

test("what is wrong is listed with the worst first, each with a link to its page", async () => {
  const { acme, agent } = world.real;
  const [failed, slow, changed] = [
    await createSeen(world.real, "failed"),
    await createSeen(world.real, "slow"),
    await createSeen(world.real, "changed"),
  ];
  // No scan finds its VM.
  await createSeen(world.real, "missing");
  await failOnce(`/servers/${failed.id}`);
  await scan(world.real, [failed.vm(), slow.vm(), changed.vm({ vcpu: 9 })]);
  await done(acme.post(`/servers/${slow.id}/power`, { action: "stop" }));
  const { id: job } = await agent.take("ServerPower");
  await world.real.sql("update job set started_at = started_at - interval '40 minutes' where id = $1", [job]);
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
  await scan(world.real, [], { ...capacityWith(0), complete: false });
  expect(findingsIn(await grace.page("/operator"))).toEqual([
    ["warning", "/operator/regions#region-ist1", "Istanbul 1 has no memory left for servers"],
    ["warning", "/operator/regions#region-ist1", "The last scan of Istanbul 1 is incomplete"],
  ]);
  await world.real.sql("update region set health_at = health_at - interval '10 minutes' where slug = 'ist1'");
  expect(findingsIn(await grace.page("/operator"))).toEqual([
    ["bad", "/operator/regions#region-ist1", "Istanbul 1 does not report: jobs there wait"],
  ]);
  // As an operator wants it.
  await done(world.real.operator.patch("/regions/ist1", { maintenance: true }));
  expect(findingsIn(await grace.page("/operator")).map(([tone]) => tone)).not.toContain("bad");
});

test("violated invariants are a problem, and a check that is too old or never ran is a warning", async () => {
  const { real } = world;
  const findings = async () => findingsIn(await grace.page("/operator"));
  const found = (tone: string, text: string) => [[tone, "/operator/invariants", text]];
  const counted = "insert into quota_count (organisation_id, resource, amount) values ($1, 'tower', 3)";
  await real.sql(counted, [world.facts.acme.id]);
  await real.checkInvariants();
  expect(await findings()).toEqual(found("bad", "One invariant is violated"));
  // The check has put the counts right.
  await real.checkInvariants();
  expect(await findings()).toEqual([]);
  await real.sql("update invariant_report set checked_at = checked_at - interval '1 day'");
  expect(await findings()).toEqual(found("warning", "The last check of the invariants is too old"));
  await real.sql("delete from invariant_report");
  expect(await findings()).toEqual(found("warning", "The invariants have not been checked yet"));
});

test("a restore that nobody has ended is named until somebody does", async () => {
  await haveRestore(world.real);
  const found = (tone: string, text: string) => expect.arrayContaining([[tone, "/operator/restore", text]]);
  expect(findingsIn(await grace.page("/operator"))).toEqual(
    found("bad", "What differs in 2 regions after the restore was not worked through"),
  );
  await world.real.sql("update region set restore_scanned_at = now() where slug = 'old1'");
  await done(world.real.operator.patch("/regions/old2/restore", { ended: true }));
  expect(findingsIn(await grace.page("/operator"))).toEqual(
    found("warning", "What differs in one region after the restore was not worked through"),
  );
});

test("a failed job counts for a day, and longer lists say more than a hundred", async () => {
  const server = await createSeen(world.real, "web-1");
  const job = await failOnce(`/servers/${server.id}`);
  expect(await grace.page("/operator")).toContain("One job failed in the last 24 hours");
  await world.real.sql(
    `update job set created_at = created_at - interval '25 hours', finished_at = finished_at - interval '25 hours'
      where id = $1`,
    [job],
  );
  expect(await grace.page("/operator")).toContain(allWell);
  await scan(world.real, [server.vm(), foreignVm(20_090)]);
  await addDrift(world.real, 20_090, 100);
  const before = world.api.calls.length;
  const page = await grace.page("/operator");
  expect(page).toContain("More than 100 VMs differ from the records");
  const lists = world.api.calls
    .slice(before)
    .filter((call) => /\/(regions|operator\/[a-z-]+)(\?|$)/.test(call));
  for (const call of lists.filter((each) => !/\/(invariants|restore)/.test(each)))
    expect(call).toContain("limit=");
  expect(lists).toHaveLength(6);
});

test("operators land on the health page, everybody else on the servers, and a page that was asked for comes first", async () => {
  const landing = async (who: "ada" | "grace", path: string) => {
    const { email, password } = world.facts.people[who];
    const visitor = new Visitor(world);
    const address = (await visitor.get(path)).headers.get("location") ?? "";
    const [, returnTo = ""] = /name="return_to" value="([^"]*)"/.exec(await visitor.page(address)) ?? [];
    const answer = await visitor.submit(address, "/sign-in", { email, password, return_to: returnTo });
    return [answer.headers.get("location"), (await visitor.get("/")).headers.get("location")];
  };
  expect(await landing("grace", "/")).toEqual(["/operator", "/operator"]);
  expect(await landing("ada", "/")).toEqual(["/servers", "/servers"]);
  expect(await landing("grace", "/ip-pools")).toEqual(["/ip-pools", "/operator"]);
});
