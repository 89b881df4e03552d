import type { Problem } from "./problem.ts";
import { absoluteName, apexName } from "./record-name.ts";
import type { RecordSet } from "./record-set.ts";
import type { RecordType } from "./record-types.ts";

/** What the record sets of a zone must hold to, beyond what each of them holds to by itself. */
export type ZoneRule =
  | "cname_beside_others"
  | "cname_at_apex"
  | "cname_several_values"
  | "ns_at_apex"
  | "wildcard_ns";

/** A problem and the record set that has it. */
export type ZoneProblem = Problem<ZoneRule> & { readonly name: string; readonly type: RecordType };

/**
 * Checks the rules of a zone at some of its names. Every rule is about the record sets of one name, so after a
 * change only the names that it touched have to be checked, and only their record sets have to be known.
 *
 * @param recordSets as they are after the change; those of other names are not looked at
 * @param names relative names, each once
 * @param zone the domain's canonical name
 */
export function zoneProblems(
  recordSets: Iterable<RecordSet>,
  names: ReadonlySet<string>,
  zone: string,
): ZoneProblem[] {
  const byName = new Map<string, RecordSet[]>();
  for (const recordSet of recordSets) {
    if (!names.has(recordSet.name)) continue;
    const known = byName.get(recordSet.name);
    if (known === undefined) byName.set(recordSet.name, [recordSet]);
    else known.push(recordSet);
  }
  return [...byName.values()].flatMap((here) => problemsOfName(here, zone));
}

function problemsOfName(here: readonly RecordSet[], zone: string): ZoneProblem[] {
  return here.flatMap((recordSet) => {
    if (recordSet.type === "NS") return nsProblems(recordSet);
    if (recordSet.type === "CNAME") return cnameProblems(recordSet, here, zone);
    return [];
  });
}

function nsProblems(recordSet: RecordSet): ZoneProblem[] {
  if (recordSet.name === apexName)
    return [
      problem(recordSet, "ns_at_apex", "name", {
        message: "The name servers of the domain itself belong to Kule",
        fix: "Leave out this record set; to delegate a part of the domain, enter its name, such as dev",
      }),
    ];
  if (recordSet.name !== "*" && !recordSet.name.startsWith("*.")) return [];
  return [
    problem(recordSet, "wildcard_ns", "name", {
      message: "A wildcard cannot be delegated to other name servers",
      fix: "Enter the name of each part that is delegated",
    }),
  ];
}

function cnameProblems(recordSet: RecordSet, here: readonly RecordSet[], zone: string): ZoneProblem[] {
  const problems: ZoneProblem[] = [];
  const shownName = absoluteName(recordSet.name, zone).slice(0, -1);
  if (recordSet.name === apexName)
    problems.push(
      problem(recordSet, "cname_at_apex", "name", {
        message: `${zone} itself cannot be a CNAME: it has name servers and other records`,
        fix: "Use A and AAAA; the value auto:srv_… follows the addresses of a server",
      }),
    );
  const others = here.filter(({ type }) => type !== "CNAME").map(({ type }) => type);
  if (others.length > 0)
    problems.push(
      problem(recordSet, "cname_beside_others", "type", {
        message: `${shownName} has record sets of type ${others.join(", ")}; a CNAME is the only one of its name`,
        fix: `Delete either the CNAME or ${others.join(", ")} of ${recordSet.name}; one list of changes can do both`,
      }),
    );
  if (recordSet.values.length > 1)
    problems.push(
      problem(recordSet, "cname_several_values", "values", {
        message: `${shownName} would be a CNAME of ${recordSet.values.length} names`,
        fix: "Enter one target",
      }),
    );
  return problems;
}

const problem = (
  { name, type }: RecordSet,
  rule: ZoneRule,
  field: string,
  texts: { readonly message: string; readonly fix: string },
): ZoneProblem => ({ rule, name, type, field, ...texts });
