import type { Lost } from "./lost-operations.ts";
import type { Json, RestoredWorld } from "./restored-world.ts";

/** What each server that was changed after the moment must be told as. */
const changed = ["bigger", "renamed", "attached", "buffered"] as const;
const missing = ["gone"] as const;

/** What is listed and was not made, and the reverse. */
export async function divergences(
  world: RestoredWorld,
  lost: Lost,
): Promise<{ readonly found: number; readonly wrong: readonly string[] }> {
  const listed = await listOf(world);
  const expected = expectedOf(lost);
  return {
    found: listed.size,
    wrong: [
      ...[...expected].filter((each) => !listed.has(each)).map((each) => `${each}: it is not listed`),
      ...[...listed]
        .filter((each) => !expected.has(each))
        .map((each) => `${each}: it is listed, and was not made`),
    ],
  };
}

/** Until two scans have seen everything that is expected; what is missing then stays missing. */
export async function untilListed(world: RestoredWorld, lost: Lost): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline && (await divergences(world, lost)).wrong.length > 0)
    await new Promise((resolve) => setTimeout(resolve, 250));
}

function expectedOf(lost: Lost): Set<string> {
  const vmidOf = (name: string) => lost.servers.get(name)?.vmid ?? 0;
  return new Set([
    ...[...lost.made.values()].flatMap(({ vmid }) => [`held VM ${vmid}`, `extra VM ${vmid}`]),
    `held VM ${vmidOf("attached")}`,
    ...changed.map((name) => `changed VM ${vmidOf(name)}`),
    ...missing.map((name) => `missing VM ${vmidOf(name)}`),
  ]);
}

async function listOf(world: RestoredWorld): Promise<Set<string>> {
  const held = await world.operator.must("GET", "/operator/held-vms?limit=200");
  const drift = await world.operator.must("GET", "/operator/drift?limit=200");
  return new Set([
    ...held.items.map(({ vmid }: Json) => `held VM ${vmid}`),
    ...drift.items.map(({ kind, vmid }: Json) => `${kind} VM ${vmid}`),
  ]);
}
