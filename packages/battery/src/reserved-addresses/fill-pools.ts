import type { ApiWorld } from "@kule/api/testing/api-world";
import { answerText, tally } from "../races/answer-text.ts";
import { inParallel } from "../races/in-parallel.ts";
import type { RowRun } from "../row.ts";
import type { Filled } from "./fill-subnets.ts";

/** A network in which guests have public addresses, and its gateway. */
type Network = {
  readonly version: 4 | 6;
  readonly length: number;
  readonly first: bigint;
  readonly gateway: bigint;
};

const bitsOf = (version: 4 | 6) => (version === 4 ? 32 : 128);
const lastOf = ({ version, length, first }: Network) => first + 2n ** BigInt(bitsOf(version) - length) - 1n;

/** IPv6 with its lowest group alone in figures: all of these networks lie within one /112. */
function written(version: 4 | 6, value: bigint): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  const high = (value >> 96n).toString(16);
  const third = ((value >> 16n) & 0xffffn).toString(16);
  const low = value & 0xffffn;
  const prefix = `${high.slice(0, -4)}:${high.slice(-4).replace(/^0+(?=.)/, "")}`;
  if (third === "0") return low === 0n ? `${prefix}::` : `${prefix}::${low.toString(16)}`;
  return `${prefix}::${third}:${low.toString(16)}`;
}

/**
 * Addresses that cannot be allocated: the gateway; IPv4's network and broadcast addresses, IPv6's anycast
 * address of the routers.
 */
function reservedIn(network: Network): Set<bigint> {
  const { version, length, first, gateway } = network;
  if (version === 6) return new Set([first, gateway]);
  return length === 31 ? new Set([gateway]) : new Set([first, gateway, lastOf(network)]);
}

function randomNetwork(index: number, random: () => number): Network {
  const version = index % 2 === 0 ? 4 : 6;
  const length = version === 4 ? 25 + (index % 7) : 121 + (index % 7);
  const first =
    version === 4
      ? (100n << 24n) + (80n << 16n) + BigInt(index) * 256n
      : (0x20010db8n << 96n) + (BigInt(index + 1) << 16n);
  const size = 2 ** (bitsOf(version) - length);
  // Most routers are at an end of their network; none is at an address that is no host's.
  const at = index % 3 === 0 ? 1 : Math.floor(random() * size);
  const gateway = first + BigInt(Math.max(1, version === 4 && length < 31 ? Math.min(at, size - 2) : at));
  return { version, length, first, gateway };
}

/**
 * Reserves all of random pools through the API, to the last address, and requests the addresses that cannot
 * be allocated.
 */
export async function fillPools(world: ApiWorld, run: RowRun, pools: number): Promise<Filled> {
  const filled = { allocations: 0, refusals: 0, violations: [] as string[] };
  for (let index = 0; index < pools; index += 1) {
    await fillPool(world, `pool-${index}`, randomNetwork(index, run.random), filled);
    run.progress(`${index + 1} pools, ${filled.allocations} public addresses`);
  }
  return filled;
}

async function fillPool(
  world: ApiWorld,
  name: string,
  network: Network,
  filled: { allocations: number; refusals: number; violations: string[] },
): Promise<void> {
  const { version, length, first, gateway } = network;
  const { operator } = world;
  const cidr = `${written(version, first)}/${length}`;
  const { id, owner } = await world.addOrganisation(name);
  const region = (await world.addRegion(name)).slug;
  const pool = await operator.post("/ip-pools", {
    region,
    name,
    gateway: written(version, gateway),
    prefix_length: length,
  });
  const range = await operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr });
  if (pool.status !== 201 || range.status !== 201) {
    filled.violations.push(`${cidr} with gateway ${written(version, gateway)}: ${tally([pool, range])}`);
    return;
  }
  const reserved = reservedIn(network);
  const usable = Array.from({ length: Number(lastOf(network) - first) + 1 }, (_, n) => first + BigInt(n))
    .filter((address) => !reserved.has(address))
    .map((address) => written(version, address));
  const allocate = (more: object) =>
    operator.post(`/ip-pools/${pool.body.id}/allocations`, { organisation_id: id, ...more });
  const refuse = (what: string, answer: Awaited<ReturnType<typeof allocate>>, expected: RegExp) => {
    filled.refusals += 1;
    if (!expected.test(answerText(answer)))
      filled.violations.push(`${what} of ${cidr}: ${answerText(answer)} ${answer.body?.address ?? ""}`);
  };
  for (const address of [...reserved].map((each) => written(version, each)))
    refuse(`${address}, allocated by name`, await allocate({ addresses: [address] }), /^(409|422) /);
  refuse("one address too many", await allocate({ count: usable.length + 1 }), /^409 /);
  if (usable.length === 0) return;
  const all = await allocate({ count: usable.length });
  if (all.status !== 201) filled.violations.push(`all ${usable.length} of ${cidr}: ${answerText(all)}`);
  const given = (
    await inParallel(usable.length, 4, () => owner.post("/public-ips", { region, version }))
  ).flatMap((answer) => {
    if (answer.status === 201) return [String(answer.body.address)];
    filled.violations.push(`${cidr} with free addresses: ${answerText(answer)}`);
    return [];
  });
  filled.allocations += given.length;
  if (given.toSorted().join(" ") !== usable.toSorted().join(" "))
    filled.violations.push(`${cidr} gave out ${given.join(" ")}, and not ${usable.join(" ")}`);
  const none = /^409 no_public_ip_available$/;
  refuse("another one", await owner.post("/public-ips", { region, version }), none);
  for (const address of [...reserved].map((each) => written(version, each)))
    refuse(`${address}, asked for by name`, await owner.post("/public-ips", { region, address }), none);
}
