import { insertLargeInstallation, KNOWN, type LargestOrganisation } from "@kule/testing/large-installation";
import { listRequests, type ReadRequest } from "@kule/testing/list-requests";
import { afterAll, beforeAll, expect, test } from "vitest";
import { announcePlans, executedPlans } from "./testing/executed-plans.ts";
import { must } from "./testing/gateway-world.ts";
import { ServerWorld } from "./testing/server-world.ts";

/*
 * What Postgres reads for each list, page and counter of an installation with 20,000 servers, of which half are one
 * organisation's: pages and rows, which no other load changes. A list that read all rows of a table, or of an organisation,
 * would be slow in an installation fifty times as large.
 */

const SERVERS = 20_000;

/** Whatever is answered, and for each of the entries. An index that is read whole costs pages and discards no row. */
const LIMITS = { pages: 500, discarded: 450 };
const LIMITS_OF_ENTRY = { pages: 35, discarded: 20 };
/** Reading a table of so many rows from beginning to end costs nothing. */
const SMALL_TABLE = 3_000;

/** What reads more, and why. A line that is not needed any more fails the test. */
const MORE: readonly { readonly path: RegExp; readonly why: string }[] = [
  {
    path: /[?&](q|label_selector)=/,
    why: "texts and labels are compared with the rows of the one organisation: with row-level security Postgres uses no index for them (ADR 0004)",
  },
  { path: /^\/usage\/summary\?group_by=day/, why: "reads the balances of every day of the month" },
  { path: /^\/operator\/stuck-jobs/, why: "looks at every job that failed within 30 days" },
  { path: /\/addresses\?state=/, why: "the state of an address depends on the time and on forwarded ports" },
];

let world: ServerWorld;
let largest: LargestOrganisation;
let requests: readonly ReadRequest[];
beforeAll(async () => {
  world = await ServerWorld.open();
  const { region, owned, organisation } = world;
  const { network } = await must(owned.post("/networks", { name: "large", region, cidr: "10.0.0.0/8" }));
  const { subnet } = await must(
    owned.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app", cidr: "10.0.0.0/16" }),
  );
  largest = { organisationId: organisation.id, region, networkId: network.id, subnetId: subnet.id };
  const owner = await world.owner.connect();
  await insertLargeInstallation(owner, largest, SERVERS);
  await announcePlans(owner, world.world.database.name);
  owner.release(true);
  requests = listRequests(largest);
}, 300_000);
afterAll(() => world?.close());

type Cost = {
  /** Entries of the answer. */
  readonly answered: number;
  readonly statements: number;
  readonly pages: number;
  readonly discarded: number;
  readonly scanned: readonly string[];
};

/** @throws Error for an answer that is no success */
async function costOf(
  { path, by }: ReadRequest,
  replica: Parameters<ServerWorld["owned"]["at"]>[0],
): Promise<Cost> {
  const caller = (by === "operator" ? world.world.operator : world.owned).at(replica);
  let answered = 0;
  const plans = await executedPlans(async () => {
    const { status, body } = await caller.get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
    answered = body.items?.length ?? 1;
  });
  return {
    answered,
    statements: plans.length,
    pages: plans.reduce((sum, plan) => sum + plan.pages, 0),
    discarded: plans.reduce((sum, plan) => sum + plan.discarded, 0),
    scanned: plans.flatMap((plan) => plan.scanned),
  };
}

async function bigTables(): Promise<ReadonlySet<string>> {
  const rows = await world.rows(
    "select relname from pg_class where relkind in ('r', 'p') and reltuples > $1",
    [SMALL_TABLE],
  );
  return new Set(rows.map(({ relname }) => relname));
}

/** What is wrong with a cost; empty when nothing is. */
function excess(cost: Cost, big: ReadonlySet<string>): string {
  const limitOf = (what: keyof typeof LIMITS) => LIMITS[what] + LIMITS_OF_ENTRY[what] * cost.answered;
  const scanned = cost.scanned.filter((table) => big.has(table));
  return [
    ...(cost.pages > limitOf("pages") ? [`${cost.pages} pages for ${cost.answered} entries`] : []),
    ...(cost.discarded > limitOf("discarded") ? [`${cost.discarded} rows for nothing`] : []),
    ...scanned.map((table) => `all of ${table}`),
  ].join(", ");
}

test("every list and every filter reads what it answers, and no table from beginning to end", {
  timeout: 300_000,
}, async () => {
  const { app } = await world.world.addReplica();
  const big = await bigTables();
  expect([...big]).toEqual(
    expect.arrayContaining(["server", "job", "audit", "usage_event", "usage_segment"]),
  );
  const needed = new Set<RegExp>();
  const wrong: string[] = [];
  const unread: string[] = [];
  for (const request of requests) {
    const cost = await costOf(request, app);
    if (cost.statements === 0) unread.push(request.path);
    const found = excess(cost, big);
    if (found === "") continue;
    const more = MORE.find(({ path }) => path.test(request.path));
    if (more === undefined || found.includes("all of")) wrong.push(`${request.path}: ${found}`);
    else needed.add(more.path);
  }
  expect.soft(wrong).toEqual([]);
  expect.soft(MORE.filter(({ path }) => !needed.has(path))).toEqual([]);
  expect(requests.length).toBeGreaterThan(250);
  // A token that is of no person is in none.
  expect(unread).toEqual(["/me/organisations"]);
});

test.each([
  ["job_list_of", "/jobs?kind=ServerRebuild"],
  ["job_newest_of", "/operator/jobs?kind=ServerReconcile"],
  ["audit_outcome", "/audit?outcome=failed"],
  ["server_list_of", "/servers?status=error"],
  ["server_labels", "/servers?label_selector=number%3D17"],
  ["address_not_used", "{subnet}/addresses?state=platform"],
  ["server_managed_list", "/servers?managed=true"],
  ["usage_event_owner", `/usage?resource=${KNOWN.load_balancer}`],
  ["usage_event_of", "/usage?kind=server.resized"],
  ["usage_event_labels", "/usage?label_selector=role%3Dnothing"],
  ["usage_segment_labels", "/usage/segments?label_selector=role%3Dnothing"],
  ["usage_segment_open", "/usage/summary"],
  ["usage_segment_ended", "/usage/summary"],
  ["record_set_of_type", `/domains/${KNOWN.domain}/records?type=MX`],
])("without the index %s, %s reads too much", async (index, path) => {
  const { app } = await world.world.addReplica();
  const subnet = `/networks/${largest.networkId}/subnets/${largest.subnetId}`;
  const request = requests.find((each) => each.path === path.replace("{subnet}", subnet));
  if (request === undefined) throw new Error(`no request ${path}`);
  await world.owner.query(`drop index ${index}`);
  expect(excess(await costOf(request, app), await bigTables())).not.toBe("");
});
