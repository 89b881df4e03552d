import { openapi } from "@kule/contract/generated/openapi";
import { type OperationId, type OperationInfo, operations } from "@kule/contract/generated/operations";
import { KNOWN, type LargestOrganisation } from "./large-installation.ts";

/** A GET of the API, and who may send it. */
export type ReadRequest = {
  readonly operation: OperationId;
  readonly path: string;
  readonly by: "operator" | "owner";
};

// biome-ignore lint/suspicious/noExplicitAny: the document as JSON has it
const document = openapi as any;

/** Of no entry: what is looked for in vain reads the most. */
const NOBODY = "0fffffffffffffffffffffffff";

/** Parameters that are no filters, and those whose values the contract lists. */
const IGNORED = new Set(["limit", "cursor", "wait"]);

/** Values of the filters without an enumeration: of the installation's entries, and of none. */
function valuesOf(parameter: string, largest: LargestOrganisation): readonly string[] {
  switch (parameter) {
    case "name":
      return ["server-100", "nothing-has-this-name"];
    case "q":
      return ["-100", "nothing-has-this"];
    case "region":
      return [largest.region, "many0", "empty"];
    case "label_selector":
      return [
        "role=web",
        "number=17",
        "role=nothing",
        "nothing",
        "!role",
        "role in (nothing,none)",
        "role!=web",
      ];
    case "action":
      return ["server.power", "server.lock"];
    case "resource":
      return [KNOWN.server, KNOWN.network, KNOWN.load_balancer, `srv_${NOBODY}`, `lb_${NOBODY}`];
    case "server_id":
      return [KNOWN.server, `srv_${NOBODY}`];
    case "actor":
      return [KNOWN.user, `usr_${NOBODY}`];
    case "from":
      return [new Date(Date.now() - 30 * 86_400_000).toISOString()];
    case "to":
      return [new Date().toISOString()];
    case "group_by":
      return ["resource", "package", "day", "label:role"];
    case "managed":
      return ["true", "false"];
    case "hours":
      return ["168"];
    case "fresh":
      return ["false"];
    default:
      throw new Error(`say here which values of ${parameter} are read`);
  }
}

/**
 * Every GET of the contract whose cost could grow with the installation: as it is, and with each value of each of its
 * filters. Without the exports, which answer all there is, by the code of the lists.
 */
export function listRequests(largest: LargestOrganisation): readonly ReadRequest[] {
  return (
    Object.values(operations)
      .filter((info) => info.method === "get" && !["public", "session"].includes(info.permission))
      // Releases of the agent are in a folder, and in no table.
      .filter(({ id, permission }) => id !== "getAgentReleases" && permission !== "agent:releases")
      .filter(({ path }) => !/\/(events|verify|export\.\w+|zone-file|check)$/.test(path))
      .flatMap((info: OperationInfo) => {
        const path = pathOf(info, largest);
        const by = info.permission.startsWith("operator:") ? "operator" : "owner";
        const queries = ["", ...info.queryParameters.flatMap((name) => queriesOf(info, name, largest))];
        return queries.map((query) => ({ operation: info.id, path: `${path}${query}`, by }) as const);
      })
  );
}

function queriesOf(info: OperationInfo, name: string, largest: LargestOrganisation): string[] {
  if (IGNORED.has(name)) return name === "limit" ? ["?limit=200"] : [];
  const values = enumerated(info, name) ?? valuesOf(name, largest);
  return values.map((value) => `?${name}=${encodeURIComponent(value)}`);
}

/** The values that the contract lists for a parameter; null when it lists none. */
function enumerated(info: OperationInfo, name: string): readonly string[] | null {
  const path = document.paths[info.path];
  const parameters = [...(path.parameters ?? []), ...(path.get.parameters ?? [])].map(resolved);
  const { schema } = parameters.find((each) => each.in === "query" && each.name === name);
  const of = resolved(schema);
  return of.enum ?? (of.items === undefined ? null : (resolved(of.items).enum ?? null));
}

// biome-ignore lint/suspicious/noExplicitAny: see above
function resolved(node: any): any {
  if (node.$ref === undefined) return node;
  const steps = (node.$ref as string).split("/").slice(1);
  return steps.reduce((at, step) => at[step], document);
}

function pathOf(info: OperationInfo, largest: LargestOrganisation): string {
  const ids: Readonly<Record<string, string>> = {
    ...Object.fromEntries(Object.entries(KNOWN).map(([kind, id]) => [`${kind}_id`, id])),
    organisation_id: largest.organisationId,
    region: largest.region,
    network_id: largest.networkId,
    subnet_id: largest.subnetId,
    record_name: "server-100",
    record_type: "A",
  };
  return info.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name];
    if (id === undefined) throw new Error(`say here what ${name} of ${info.path} is`);
    return id;
  });
}
