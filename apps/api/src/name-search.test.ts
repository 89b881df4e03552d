import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiWorld } from "./testing/api-world.ts";
import { made, Tenant } from "./testing/proofs/tenant.ts";

let world: ApiWorld;
let tenant: Tenant;
beforeAll(async () => {
  world = await ApiWorld.open();
  tenant = await Tenant.open(world, "names", await world.addRegion("r1"));
  await tenant.setEdge(true);
  await tenant.openPublicNetwork(world, "100.96");
});
afterAll(() => world?.close());

/** Makes one of the list with this name. */
const makers: Partial<Record<OperationId, (name: string) => Promise<unknown>>> = {
  listServers: async (name) => made(await tenant.owner.post("/servers", { ...tenant.serverBody(), name })),
  listSshKeys: async (name) => made(await tenant.owner.post("/ssh-keys", { ...tenant.sshKeyBody(), name })),
  listNetworks: async (name) => made(await tenant.owner.post("/networks", { ...tenant.networkBody(), name })),
  listFirewalls: async (name) =>
    made(await tenant.owner.post("/firewalls", { ...tenant.firewallBody(), name })),
  listGateways: async (name) =>
    made(await tenant.owner.post("/gateways", { ...tenant.gatewayBody(await tenant.addNetwork()), name })),
  // Addresses have no other name than that of their PTR record.
  listPublicIps: async (name) =>
    made(await tenant.owner.post("/public-ips", { region: "r1", ptr: `${name}.example.org` })),
};

test("every list that takes q is here", () => {
  const lists = Object.values(operations).filter(({ queryParameters }) =>
    (queryParameters as readonly string[]).includes("q"),
  );
  expect(lists.map(({ id }) => id).sort()).toEqual(Object.keys(makers).sort());
});

test.each(Object.keys(makers) as OperationId[])("%s finds names by how they begin", async (id) => {
  for (const name of ["way-one", "way-two", "highway"]) await makers[id]?.(name);
  const path = operations[id].path;
  const named = async (q: string) =>
    made(await tenant.owner.get(`${path}?q=${encodeURIComponent(q)}`)).items.map(
      (item: { readonly name?: string; readonly ptr?: string | null }) =>
        item.name ?? item.ptr?.replace(".example.org", ""),
    );
  expect(await named("way")).toEqual(["way-two", "way-one"]);
  expect(await named("way-o")).toEqual(["way-one"]);
  // Signs of a pattern are letters like any other.
  for (const none of ["%", "w_y", "ay", ".*"]) expect(await named(none)).toEqual([]);
  expect((await named("")).length).toBeGreaterThan(2);
});
