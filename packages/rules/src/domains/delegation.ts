/** What a domain's parent says of its name servers, compared with the domain's own. */
export type DelegationState = "unknown" | "none" | "elsewhere" | "partial" | "right";

export type DelegationComparison = {
  readonly state: DelegationState;
  /** The names that the parent says, without final dots. */
  readonly observed: readonly string[];
  /** Own name servers that the parent does not name. */
  readonly missing: readonly string[];
  /** Name servers that the parent names and that are not the domain's. */
  readonly foreign: readonly string[];
};

/**
 * @param observed the names of the parent's NS records; null: the parent could not be asked
 * @param wanted the domain's own name servers
 */
export function compareDelegation(
  observed: readonly string[] | null,
  wanted: readonly string[],
): DelegationComparison {
  if (observed === null) return { state: "unknown", observed: [], missing: [], foreign: [] };
  const own = wanted.map(bare);
  const seen = [...new Set(observed.map(bare))].sort();
  const missing = own.filter((name) => !seen.includes(name));
  const foreign = seen.filter((name) => !own.includes(name));
  const state =
    seen.length === 0
      ? "none"
      : missing.length === own.length
        ? "elsewhere"
        : missing.length === 0 && foreign.length === 0
          ? "right"
          : "partial";
  return { state, observed: seen, missing, foreign };
}

const bare = (name: string) => name.toLowerCase().replace(/\.$/, "");
