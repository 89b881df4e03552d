import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GatewayWorld, must } from "../testing/gateway-world.ts";

let world: GatewayWorld;
const names = ["mint", "anis", "zimt"];

beforeAll(async () => {
  world = await GatewayWorld.open();
  const { owned, region, world: api } = world.servers;
  for (const [index, name] of names.entries()) {
    const { network } = await must(owned.post("/networks", { name, region, cidr: "10.20.0.0/16" }));
    const { subnet } = await must(
      owned.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" }),
    );
    await must(owned.post("/load-balancers", { name, subnet_id: subnet.id }));
    await world.settle();
    await must(owned.post("/gateways", { name, network_id: network.id }));
    await must(owned.post("/firewalls", { name, region, rules: [] }));
    await must(owned.post("/public-ips", { region, address: `203.0.113.${[39, 9, 10][index]}` }));
    await must(
      api.operator.post("/ip-pools", {
        region,
        name,
        gateway: `198.51.${index}.1`,
        prefix_length: 24,
        vlan: 80 + index,
      }),
    );
  }
});
afterAll(() => world.close());

type Listed = { readonly name: string; readonly address: string };

/** A list in an order, read page by page, with only what this test has created. */
async function listed(path: string, sort: string, of: keyof Listed): Promise<string[]> {
  const api = path === "/ip-pools" ? world.servers.world.operator : world.servers.owned;
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await must(
      api.get(`${path}?limit=1&sort=${sort}${cursor === null ? "" : `&cursor=${cursor}`}`),
    );
    found.push(...page.items.map((item: Listed) => item[of]));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found.filter((name) => of === "address" || names.includes(name));
}

describe.each(["/networks", "/gateways", "/load-balancers", "/firewalls", "/ip-pools"])("%s", (path) => {
  test("are sorted by name or by age, either way, page by page", async () => {
    expect(await listed(path, "name", "name")).toEqual(["anis", "mint", "zimt"]);
    expect(await listed(path, "-name", "name")).toEqual(["zimt", "mint", "anis"]);
    expect(await listed(path, "created_at", "name")).toEqual(names);
    expect(await listed(path, "-created_at", "name")).toEqual(names.toReversed());
  });

  test("are sorted by region, those of one region by name, page by page", async () => {
    expect(await listed(path, "region", "name")).toEqual(["anis", "mint", "zimt"]);
    expect(await listed(path, "-region", "name")).toEqual(["zimt", "mint", "anis"]);
  });
});

test("public addresses are sorted as numbers, not as texts", async () => {
  const inOrder = ["203.0.113.9", "203.0.113.10", "203.0.113.39"];
  const own = async (sort: string) =>
    (await listed("/public-ips", sort, "address")).filter((address) => inOrder.includes(address));
  expect(await own("address")).toEqual(inOrder);
  expect(await own("-address")).toEqual(inOrder.toReversed());
});

test("a cursor of one order is refused in another", async () => {
  const { owned } = world.servers;
  const { next_cursor } = await must(owned.get("/networks?limit=1&sort=name"));
  const answer = await owned.get(`/networks?limit=1&sort=-name&cursor=${next_cursor}`);
  expect(answer).toMatchObject({
    status: 422,
    body: { errors: [{ field: "cursor", code: "invalid_format" }] },
  });
});
