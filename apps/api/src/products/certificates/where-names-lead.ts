import { type ResolveSettings, readAddresses } from "@kule/dns/resolve";
import type { SeenAddresses } from "@kule/rules/certificates/http-proof";
import { inTurns } from "../../platform/in-turns.ts";

const atTheSameTime = 10;
/** For one name: name servers of which one is silent take a few seconds. */
const longestMs = 10_000;

/** By name; null for a name whose name servers have not answered. */
export type WhereNamesLead = ReadonlyMap<string, SeenAddresses | null>;

/**
 * What the Internet's name servers say of each name now.
 *
 * @param withinMs for all of them; those that are not reached until then have not answered
 */
export async function whereNamesLead(
  names: readonly string[],
  resolving: ResolveSettings,
  withinMs: number,
): Promise<WhereNamesLead> {
  const end = performance.now() + withinMs;
  const seen = new Map<string, SeenAddresses | null>();
  await inTurns(names, atTheSameTime, async (name) => {
    const deadlineMilliseconds = Math.min(longestMs, end - performance.now());
    const answer =
      deadlineMilliseconds <= 0 ? null : await readAddresses(name, { ...resolving, deadlineMilliseconds });
    seen.set(name, answer?.outcome === "answered" ? answer : null);
  });
  return seen;
}
