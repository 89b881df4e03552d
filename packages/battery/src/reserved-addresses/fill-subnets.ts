import { ServerWorld } from "@kule/api/testing/server-world";
import { answerText } from "../races/answer-text.ts";
import { inParallel } from "../races/in-parallel.ts";
import type { RowRun } from "../row.ts";
import { dotted } from "../subnet-races/blocks.ts";
import { placesOf, readBlock, reservedOf } from "./oracle.ts";

export type Filled = {
  readonly allocations: number;
  readonly refusals: number;
  readonly violations: string[];
};

/**
 * Fills random subnets through the API to the last address, and requests every address that cannot be
 * allocated.
 */
export async function fillSubnets(run: RowRun, subnets: number): Promise<Filled> {
  const world = await ServerWorld.open();
  try {
    const region = "wide";
    await world.world.addRegion(region, {
      vmid_range: { first: 1_000, last: 20_999 },
      vlan_range: { first: 2, last: 4_000 },
    });
    const network = await world.owned.post("/networks", { name: "all", region, cidr: "10.0.0.0/8" });
    const filled = { allocations: 0, refusals: 0, violations: [] as string[] };
    for (let index = 0; index < subnets; index += 1) {
      // Every few, a wide one whose lower part is taken as far as the allocation is concerned.
      const length = index % 3 === 2 ? 16 + Math.floor(run.random() * 11) : 27 + Math.floor(run.random() * 3);
      const block = `${dotted((10n << 24n) + BigInt(index) * 65_536n)}/${length}`;
      const made = await world.owned.post(`/networks/${network.body.network.id}/subnets`, {
        name: `s-${index}`,
        tier: "app",
        cidr: block,
      });
      if (made.status !== 201) {
        filled.violations.push(`${block} was not made: ${answerText(made)}`);
        continue;
      }
      await fillOne(world, region, made.body.subnet.id, block, filled);
      run.progress(`${index + 1} subnets, ${filled.allocations} addresses`);
    }
    await refuseInvalid(world, network.body.network.id, filled);
    return filled;
  } finally {
    await world.close();
  }
}

type Counts = { allocations: number; refusals: number; violations: string[] };

async function fillOne(
  world: ServerWorld,
  region: string,
  subnetId: string,
  cidr: string,
  filled: Counts,
): Promise<void> {
  const block = readBlock(cidr);
  if (block === null) throw new Error(`${cidr} is no block`);
  const ask = (more: object = {}) =>
    world.owned.post("/servers", world.body({ region, subnet_id: subnetId, ...more }));
  const refuse = async (address: string, expected: RegExp) => {
    const answer = await ask({ private_ip: address });
    filled.refusals += 1;
    if (!expected.test(answerText(answer)))
      filled.violations.push(`${address} of ${cidr}, asked for by name: ${answerText(answer)}`);
  };
  for (const address of reservedOf(block)) await refuse(address, /^422 \/private_ip out_of_range$/);
  for (const address of [block.first - 1n, block.last + 1n].map(dotted))
    await refuse(address, /^422 \/private_ip out_of_range$/);

  const isWide = block.length < 27;
  const places = isWide ? placesOf({ first: block.last - 6n, last: block.last }) : placesOf(block);
  // In a wide one the search continues from near the end: below, an address row for each would only take
  // time.
  if (isWide)
    await world.owner.query("update subnet set lowest_free_hint = $2 where id = $1", [subnetId, places[0]]);
  const given = (await inParallel(places.length, 4, () => ask())).flatMap((answer) => {
    if (answer.status === 202) return [String(answer.body.server.interfaces[0]?.private_ip)];
    filled.violations.push(`${cidr} with free addresses: ${answerText(answer)}`);
    return [];
  });
  filled.allocations += given.length;
  if (given.toSorted().join(" ") !== places.toSorted().join(" "))
    filled.violations.push(`${cidr} gave out ${given.join(" ")}, and not ${places.join(" ")}`);
  const full = await ask();
  filled.refusals += 1;
  if (answerText(full) !== "409 subnet_exhausted")
    filled.violations.push(
      `${cidr} when it was full: ${answerText(full)} ${full.body.server?.interfaces[0]?.private_ip ?? ""}`,
    );
}

/**
 * Blocks that are too small for a network, a gateway, a broadcast address and a server, and those of another
 * family.
 */
async function refuseInvalid(world: ServerWorld, networkId: string, filled: Counts): Promise<void> {
  const odd = [
    "10.250.0.0/30",
    "10.250.0.0/31",
    "10.250.0.0/32",
    "fd00::/64",
    "10.250.0.1/24",
    "11.0.0.0/24",
  ];
  for (const cidr of odd) {
    const answer = await world.owned.post(`/networks/${networkId}/subnets`, {
      name: "odd",
      tier: "app",
      cidr,
    });
    filled.refusals += 1;
    if (!/^422 \/cidr (out_of_range|invalid_format)$/.test(answerText(answer)))
      filled.violations.push(`a subnet ${cidr}: ${answerText(answer)}`);
  }
}
