import { join } from "node:path";
import { type ApiClient, asProblem } from "@kule/contract/client";
import { Refused } from "./first-server.ts";
import { readJsonFile, writePrivateFile } from "./private-file.ts";

/**
 * Of RFC 5737 and RFC 3849: documentation addresses, other than those of the documents' own examples. The
 * lab's internet answers at the gateways.
 */
const pools = [
  {
    name: "internet",
    gateway: "192.0.2.1",
    prefix_length: 24,
    reverse_name: "*.static.lab.test",
    cidr: "192.0.2.64/26",
    count: 8,
  },
  {
    name: "internet-v6",
    gateway: "2001:db8:198::1",
    prefix_length: 64,
    reverse_name: "*.static.lab.test",
    cidr: "2001:db8:198::/122",
    count: 8,
  },
] as const;

/** The reverse zones of the pools, and of the one that docs/products/public-ips.md makes. */
export const labReverseZones = [
  { block: "192.0.2.0/24", zone: "2.0.192.in-addr.arpa" },
  { block: "203.0.113.0/24", zone: "113.0.203.in-addr.arpa" },
  { block: "2001:db8:198::/64", zone: "0.0.0.0.8.9.1.0.8.b.d.0.1.0.0.2.ip6.arpa" },
] as const;

/** Where the lab's region has them. */
export const publicNetwork = { bridge: "vmbr0", vlan: 10 } as const;

/** The lab's internet: the next hops of the pools, in slash notation, and a host beyond them. */
export const labInternet = {
  networks: [
    {
      ...publicNetwork,
      addresses: pools.map(({ gateway, prefix_length }) => `${gateway}/${prefix_length}`),
    },
  ],
  beyond: ["198.51.100.250", "2001:db8:ffff::1"],
  hasWeb: true,
};

/**
 * Allocates public addresses to the organisation, once per installation, as an operator would: a pool for
 * each IP version, a range in it, an allocation. Each step checks first: after a start that was killed, the
 * next one continues.
 */
export async function seedPublicAddresses(
  operator: ApiClient,
  home: string,
  { region, organisation_id }: { readonly region: string; readonly organisation_id: string },
): Promise<void> {
  const file = join(home, "public-addresses.json");
  if (readJsonFile(file) !== undefined) return;
  for (const pool of pools) await seedPool(operator, region, organisation_id, pool);
  writePrivateFile(file, JSON.stringify({ done: true }));
}

async function seedPool(
  operator: ApiClient,
  region: string,
  organisationId: string,
  { cidr, count, ...settings }: (typeof pools)[number],
): Promise<void> {
  const found = answered(await operator.GET("/ip-pools", { params: { query: { limit: 200 } } }));
  const pool =
    found.items.find((each) => each.name === settings.name && each.region === region) ??
    answered(await operator.POST("/ip-pools", { body: { region, ...settings } }));
  const params = { path: { ip_pool_id: pool.id } };
  if (pool.addresses.total === 0)
    answered(await operator.POST("/ip-pools/{ip_pool_id}/ranges", { params, body: { cidr } }));
  const { allocated, taken, quarantined } = pool.addresses;
  if (allocated + taken + quarantined === 0)
    answered(
      await operator.POST("/ip-pools/{ip_pool_id}/allocations", {
        params,
        body: { organisation_id: organisationId, count },
      }),
    );
}

/** @throws Refused with the API's text */
function answered<Data>({ data, error }: { readonly data?: Data; readonly error?: unknown }): Data {
  if (data === undefined)
    throw new Refused(
      `the API refused public addresses: ${asProblem(error)?.detail ?? JSON.stringify(error)}`,
    );
  return data;
}
