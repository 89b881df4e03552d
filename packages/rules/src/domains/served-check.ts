import type { DelegationComparison } from "./delegation.ts";

/** `serves_older`: with an older serial than the last change that was applied. `silent`: no answer. */
export type ServedState = "serves" | "serves_older" | "not_serving" | "silent";

export type CheckProblem = { readonly code: string; readonly message: string; readonly fix: string | null };

/**
 * @param serial that the server answers; null: it does not serve the zone
 * @param wantedSerial of the last change that was applied; null: none was
 */
export function servedState(serial: number | null, wantedSerial: number | null): ServedState {
  if (serial === null) return "not_serving";
  if (wantedSerial === null) return "serves";
  // Serials are compared on a circle of 32 bits (RFC 1982).
  return (serial - wantedSerial) >>> 0 < 0x8000_0000 ? "serves" : "serves_older";
}

export type CheckedDomain = {
  readonly name: string;
  readonly nameServers: readonly string[];
  /** Its name servers have it, or are to have it. */
  readonly isProven: boolean;
  /** DS records of its keys; empty while it is not signed. */
  readonly ds: readonly string[];
};

export type CheckFacts = {
  readonly servers: readonly {
    readonly name: string;
    readonly address: string;
    readonly state: ServedState;
  }[];
  readonly delegation: DelegationComparison;
  /** DS records at the parent; null: not known. */
  readonly parentDs: readonly string[] | null;
};

/** What is not right with a domain as the Internet sees it, and what to do. Empty: all of it is right. */
export function checkProblems(domain: CheckedDomain, facts: CheckFacts): CheckProblem[] {
  return [
    ...delegationProblems(domain, facts.delegation),
    ...(domain.isProven ? facts.servers.flatMap((server) => serverProblem(server)) : []),
    ...dsProblems(domain, facts),
  ];
}

function delegationProblems(
  { name, nameServers }: CheckedDomain,
  found: DelegationComparison,
): CheckProblem[] {
  const enter = `Enter these name servers where ${name} is registered: ${nameServers.join(", ")}`;
  switch (found.state) {
    case "right":
      return [];
    case "unknown":
      return [
        {
          code: "delegation_unknown",
          message: `The name servers of the domain above ${name} do not answer`,
          fix: "Try again in some minutes",
        },
      ];
    case "none":
      return [{ code: "not_delegated", message: `${name} has no name servers`, fix: enter }];
    case "elsewhere":
      return [
        {
          code: "delegated_elsewhere",
          message: `${name} is served by ${found.foreign.join(", ")}`,
          fix: enter,
        },
      ];
    case "partial":
      return [
        ...(found.missing.length === 0
          ? []
          : [
              {
                code: "name_servers_missing",
                message: `The domain above ${name} does not name ${found.missing.join(", ")}`,
                fix: enter,
              },
            ]),
        ...(found.foreign.length === 0
          ? []
          : [
              {
                code: "name_servers_foreign",
                message: `The domain above ${name} also names ${found.foreign.join(", ")}, which answer something else`,
                fix: `Remove ${found.foreign.join(", ")} where ${name} is registered`,
              },
            ]),
      ];
  }
}

function serverProblem(server: CheckFacts["servers"][number]): CheckProblem[] {
  const at = `${server.name} (${server.address})`;
  switch (server.state) {
    case "serves":
      return [];
    case "serves_older":
      return [
        {
          code: "name_server_behind",
          message: `${at} does not serve the last change yet`,
          fix: "Wait a minute",
        },
      ];
    case "not_serving":
      return [
        {
          code: "name_server_not_serving",
          message: `${at} does not serve the domain`,
          fix: "Wait until the job of the last change has ended; if it lasts, an operator has to look at it",
        },
      ];
    case "silent":
      return [
        {
          code: "name_server_silent",
          message: `${at} does not answer`,
          fix: "An operator has to look at it",
        },
      ];
  }
}

function dsProblems({ name, ds }: CheckedDomain, { parentDs }: CheckFacts): CheckProblem[] {
  if (parentDs === null) return [];
  const isKnown = parentDs.some((record) => ds.some((own) => sameDs(own, record)));
  if (parentDs.length > 0 && !isKnown)
    return [
      {
        code: "ds_of_other_keys",
        message: `The domain above ${name} has DS records of keys that ${name} is not signed with: validating resolvers refuse its answers`,
        fix: `Remove the DS records where ${name} is registered`,
      },
    ];
  if (parentDs.length === 0 && ds.length > 0)
    return [
      {
        code: "ds_missing",
        message: `${name} is signed, and the domain above it has no DS record: nobody can check the signatures`,
        fix: `Enter one of these where ${name} is registered: ${ds.join("; ")}`,
      },
    ];
  return [];
}

const sameDs = (one: string, other: string) =>
  one.toLowerCase().replaceAll(/\s+/g, " ") === other.toLowerCase().replaceAll(/\s+/g, " ");
