import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";

import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { searchCondition } from "./platform/search-condition.ts";
import { inTransaction } from "./platform/transaction.ts";
import { ApiWorld } from "./testing/api-world.ts";
import { made, Tenant } from "./testing/proofs/tenant.ts";

let world: ApiWorld;
let tenant: Tenant;
/** The one whose record sets are searched. */
let domain: string;
beforeAll(async () => {
  world = await ApiWorld.open();
  tenant = await Tenant.open(world, "names", await world.addRegion("r1"));
  await tenant.setEdge(true);
  await tenant.openPublicNetwork(world, "100.96");
  domain = made(await tenant.owner.post("/domains", { name: "records.example.org" })).domain.id;
});
afterAll(() => world?.close());

/** Creates an entry of the list with this name. */
const makers: Partial<Record<OperationId, (name: string) => Promise<unknown>>> = {
  listServers: async (name) => made(await tenant.owner.post("/servers", { ...tenant.serverBody(), name })),
  listSshKeys: async (name) => made(await tenant.owner.post("/ssh-keys", { ...tenant.sshKeyBody(), name })),
  listNetworks: async (name) => made(await tenant.owner.post("/networks", { ...tenant.networkBody(), name })),
  listFirewalls: async (name) =>
    made(await tenant.owner.post("/firewalls", { ...tenant.firewallBody(), name })),
  listGateways: async (name) =>
    made(await tenant.owner.post("/gateways", { ...tenant.gatewayBody(await tenant.addNetwork()), name })),
  listLoadBalancers: async (name) => {
    const subnet = await tenant.addSubnet(await tenant.addNetwork());
    made(await tenant.owner.post("/load-balancers", { ...tenant.loadBalancerBody(subnet), name }));
  },
  // Addresses have no other name than that of their PTR record.
  listPublicIps: async (name) =>
    made(await tenant.owner.post("/public-ips", { region: "r1", ptr: `${name}.example.org` })),
  listDomains: async (name) => made(await tenant.owner.post("/domains", { name: `${name}.example.org` })),
  listRecordSets: async (name) =>
    made(await tenant.owner.put(`/domains/${domain}/records/${name}/A`, { values: ["192.0.2.1"] })),
};

test("every list that takes q is here", () => {
  const lists = Object.values(operations).filter(({ queryParameters }) =>
    (queryParameters as readonly string[]).includes("q"),
  );
  expect(lists.map(({ id }) => id).sort()).toEqual(Object.keys(makers).sort());
});

test.each(Object.keys(makers) as OperationId[])("%s finds names by a part of them", async (id) => {
  for (const name of ["way-one", "way-two", "highway"]) await makers[id]?.(name);
  const path = operations[id].path.replace("{domain_id}", domain);
  const named = async (q: string) =>
    made(await tenant.owner.get(`${path}?q=${encodeURIComponent(q)}`)).items.map(
      (item: { readonly name?: string; readonly ptr?: string | null }) =>
        (item.name ?? item.ptr)?.replace(".example.org", ""),
    );
  // Record sets are in the order of their names.
  const inOrder =
    id === "listRecordSets" ? ["highway", "way-one", "way-two"] : ["highway", "way-two", "way-one"];
  expect(await named("way")).toEqual(inOrder);
  expect(await named("AY-O")).toEqual(["way-one"]);
  // Signs of a pattern are letters like any other.
  for (const none of ["%", "w_y", "a-w", ".*"]) expect(await named(none)).toEqual([]);
  expect((await named("")).length).toBeGreaterThan(2);
});

test("labels are found by a part of key and value, and servers by a part of a private address", async () => {
  const labels = { [`env-${tenant.mark}`]: "prod-eu" };
  const body = { ...tenant.serverBody(), name: "labelled", labels };
  const { server } = made(await tenant.owner.post("/servers", body));
  made(
    await tenant.owner.post("/networks", {
      ...tenant.networkBody(),
      name: "wide",
      cidr: "10.77.0.0/16",
      labels,
    }),
  );
  const named = async (path: string, q: string) =>
    made(await tenant.owner.get(`${path}?q=${encodeURIComponent(q)}`)).items.map(
      (item: { readonly name: string }) => item.name,
    );
  for (const q of [`v-${tenant.mark}`, `${tenant.mark}=prod`, `${tenant.mark.toUpperCase()}=PROD-E`]) {
    expect(await named("/servers", q)).toEqual(["labelled"]);
    expect(await named("/networks", q)).toEqual(["wide"]);
  }
  expect(await named("/networks", "0.77.0")).toEqual(["wide"]);
  const address = server.interfaces[0].private_ip as string;
  expect(await named("/servers", address)).toContain("labelled");
  expect(await named("/servers", address.slice(1))).toContain("labelled");
  expect(await named("/servers", `${address}9`)).toEqual([]);
});

test("a search reads the rows of the one organisation, by an index", async () => {
  const { db } = world.replica.deps;
  const conditions = {
    server: searchCondition("web", { texts: ["server.name"], labels: "server.labels" }),
    network: searchCondition("web", { texts: ["network.name"], labels: "network.labels" }),
    firewall: searchCondition("web", { texts: ["firewall.name"], labels: "firewall.labels" }),
    gateway: searchCondition("web", { texts: ["gateway.name"], labels: "gateway.labels" }),
    load_balancer: searchCondition("web", { texts: ["load_balancer.name"], labels: "load_balancer.labels" }),
    ssh_key: searchCondition("web", { texts: ["ssh_key.name"], labels: "ssh_key.labels" }),
    domain: searchCondition("web", { texts: ["domain.name"], labels: "domain.labels" }),
    public_ip: searchCondition("web", { texts: ["public_ip.ptr"], labels: "public_ip.labels" }),
  };
  for (const [table, condition] of Object.entries(conditions)) {
    // Small tables are read sequentially whatever indexes there are: the test checks that a suitable index
    // exists.
    const { rows } = await inTransaction(db, async (tx) => {
      await sql`set local enable_seqscan = off; set local enable_sort = off`.execute(tx);
      return sql<{ "QUERY PLAN": string }>`explain select id from ${sql.table(table)}
        where organisation_id = ${tenant.id} and ${condition} ${sql.raw(table === "server" ? "and deleted_at is null and managed_by_type is null" : "")} order by created_at desc, id desc limit 7`.execute(
        tx,
      );
    });
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan, table).not.toContain("Seq Scan");
    expect(plan, table).toMatch(/Index Cond: \(organisation_id = /);
    // The order is the index' own: the search ends with the page.
    expect(plan, table).not.toContain("Sort");
  }
});
