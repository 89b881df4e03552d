import { afterAll, beforeAll, expect, it } from "vitest";
import { newId } from "./platform/ids.ts";
import type { ApiCaller } from "./testing/api-caller.ts";
import { ApiWorld } from "./testing/api-world.ts";

let world: ApiWorld;
let owner: ApiCaller;
let network: string;
let subnet: string;

beforeAll(async () => {
  world = await ApiWorld.open();
  await world.addRegion("r1");
  await world.addRegion("r2");
  owner = (await world.addOrganisation("fields")).owner;
  network = (await owner.post("/networks", { name: "n", region: "r1", cidr: "10.0.0.0/16" })).body.network.id;
  subnet = (await owner.post(`/networks/${network}/subnets`, { name: "s", tier: "app", cidr: "10.0.1.0/24" }))
    .body.subnet.id;
});
afterAll(() => world?.close());

const absent = (prefix: "key" | "sub" | "org") => newId(prefix);
const vlans = { first: 2, last: 9 };

/** Mistakes of every kind in one body: against the schema, against the rules, against what exists. */
const bodies: readonly (readonly [
  what: string,
  path: () => string,
  body: () => object,
  pointers: readonly string[],
])[] = [
  [
    "a server wrong in nine ways",
    () => "/servers",
    () => ({
      name: "123",
      region: "nowhere",
      image: "none",
      package: "none",
      ssh_key_ids: [absent("key"), "x"],
      subnet_id: absent("sub"),
      start: "yes",
      more: 1,
    }),
    [
      "/name",
      "/region",
      "/image",
      "/package",
      "/ssh_key_ids/0",
      "/ssh_key_ids/1",
      "/subnet_id",
      "/start",
      "/more",
    ],
  ],
  [
    "a server that fits neither its image nor what exists",
    () => "/servers",
    () => ({
      name: "null",
      image: "windows-2022",
      package: "s",
      ssh_key_ids: [absent("key")],
      subnet_id: "x",
    }),
    ["/name", "/region", "/package", "/ssh_key_ids", "/ssh_key_ids/0", "/subnet_id"],
  ],
  [
    "a server whose subnet is elsewhere",
    () => "/servers",
    () => ({
      name: "a",
      region: "r2",
      image: "debian-12",
      package: "s",
      subnet_id: subnet,
      private_ip: "10.0.1.255",
    }),
    ["/subnet_id", "/private_ip"],
  ],
  [
    "a dry run with a wrong query",
    () => "/servers?dry_run=maybe&more=1",
    () => ({ name: "A" }),
    ["dry_run", "more", "/name", "/region", "/image", "/package"],
  ],
  [
    "a network",
    () => "/networks",
    () => ({ name: "A", region: "nowhere", cidr: "8.8.8.0/24", labels: { a: 1 } }),
    ["/name", "/region", "/cidr", "/labels/a"],
  ],
  [
    "a subnet",
    () => `/networks/${network}/subnets`,
    () => ({ name: "A", tier: "none", cidr: "10.1.0.0/24", dns_servers: ["1.1.1.1", "x"] }),
    ["/name", "/tier", "/cidr", "/dns_servers/1"],
  ],
  [
    "an SSH key",
    () => "/ssh-keys",
    () => ({ name: "", public_key: "ssh-dss AAAA", more: 1 }),
    ["/name", "/public_key", "/more"],
  ],
  [
    "a token",
    () => "/tokens",
    () => ({ role: "boss", scopes: ["x"], expires_in_days: 0 }),
    ["/name", "/role", "/scopes/0", "/expires_in_days"],
  ],
];

it.each(bodies)("%s gets all errors in one answer", async (_what, path, body, pointers) => {
  const answer = await owner.post(path(), body());
  expect(answer.status).toBe(422);
  const named = new Set(answer.body.errors.map((error: { pointer: string }) => error.pointer));
  expect([...named].sort()).toEqual([...pointers].sort());
});

it("operators see all problems of a region", async () => {
  const answer = await world.operator.post("/regions", {
    slug: "A",
    name: "",
    country: "tr",
    vmid_range: { first: 200, last: 100 },
    vlan_range: { first: 1, last: 5000 },
    restricted_to: ["x", absent("org")],
  });
  const named = new Set(answer.body.errors.map((error: { pointer: string }) => error.pointer));
  expect([...named].sort()).toEqual(
    [
      "/slug",
      "/name",
      "/country",
      "/vmid_range/last",
      "/vlan_range/first",
      "/vlan_range/last",
      "/restricted_to/0",
      "/restricted_to/1",
    ].sort(),
  );
  expect(
    (
      await world.operator.post("/regions", {
        slug: "ok",
        name: "ok",
        vmid_range: { first: 100, last: 101 },
        vlan_range: vlans,
      })
    ).status,
  ).toBe(201);
});
