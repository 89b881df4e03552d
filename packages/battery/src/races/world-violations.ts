import { worldCheck } from "@kule/testing/world-check/world-check";

/** The findings of world-check, as sentences. */
export async function worldViolations(
  ownerUrl: string,
  when: string,
  regions?: Parameters<typeof worldCheck>[0]["regions"],
): Promise<string[]> {
  const found = await worldCheck({ ownerUrl, ...(regions === undefined ? {} : { regions }) });
  return found.map(({ invariant, check, subject }) => `${when}: ${invariant} ${check}: ${subject}`);
}
