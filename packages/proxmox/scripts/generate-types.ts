// Writes src/generated/api.ts: for every call of src/driver-calls/driver-calls.ts the parameters that the driver sends,
// as it writes them, and what schema/proxmox-api-schema.json says of its answer; and the roles that the calls need for
// the lab, which knows nothing of the driver. `--check` writes nothing and fails when a committed file differs.
import { readFileSync, writeFileSync } from "node:fs";
import type { CallFacts, Parameter } from "../src/driver-calls/call-facts.ts";
import { DRIVER_CALLS } from "../src/driver-calls/driver-calls.ts";
import { agentRoles } from "../src/driver-calls/grants.ts";

type Property = {
  type?: string;
  optional?: unknown;
  enum?: readonly (string | number | null)[];
  properties?: Record<string, Property>;
  items?: Property;
};
type Endpoint = {
  method: string;
  path: string;
  parameters: Record<string, Property>;
  returns: Property;
};

const INDEXED = /^(.+)\[n\]$/;

function enumeration(values: readonly (string | number | null)[]): string {
  return values
    .filter((value) => value !== null && value !== "")
    .map((value) => JSON.stringify(String(value)))
    .join(" | ");
}

/** As the driver writes it; what the schema allows of a text is kept. */
function parameterType(property: Property, { as }: Parameter): string {
  switch (as) {
    case "number":
      return "number";
    case "flag":
      return "boolean";
    case "list":
      return "readonly string[]";
    case "text":
      return property.enum && property.enum.length > 0 ? enumeration(property.enum) : "string";
  }
}

const WRITTEN_AS: Readonly<Record<string, Parameter["as"]>> = {
  integer: "number",
  number: "number",
  boolean: "flag",
  array: "list",
};

/** What the schema has of the parameters that the driver sends. Those in the path are never left out. */
function sentParameters(
  call: string,
  { path, parameters }: Endpoint,
  facts: CallFacts,
): Record<string, Property> {
  return Object.fromEntries(
    Object.entries(facts.parameters).map(([name, { as }]) => {
      const property = parameters[name];
      if (property === undefined) throw new Error(`${call} has no parameter ${name} in the schema`);
      // A text is never refused for its type: what is a number or a flag may be written as one.
      const schemas = WRITTEN_AS[property.type ?? "string"] ?? "text";
      if (as !== "text" && as !== schemas)
        throw new Error(`${call}: ${name} is ${property.type} in the schema and written as ${as}`);
      return [name, path.includes(`{${name}}`) ? { ...property, optional: 0 } : property];
    }),
  );
}

function answerType(property: Property, indent: string): string {
  switch (property.type) {
    case "null":
      return "null";
    case "integer":
    case "number":
      return "PveNumber";
    case "boolean":
      return "PveBoolean";
    case "array":
      return `${wrapped(property.items ? answerType(property.items, indent) : "unknown")}[]`;
    case "object":
      if (!property.properties) return "Record<string, unknown>";
      return `{\n${members(property.properties, indent, (each, deeper) => answerType(each, deeper))}${indent}}`;
    case "string":
      return property.enum && property.enum.length > 0 ? enumeration(property.enum) : "string";
    default:
      return "unknown";
  }
}

function wrapped(type: string): string {
  return type.includes(" | ") && !type.startsWith("{") ? `(${type})` : type;
}

/** An indexed key ("net[n]") becomes a template-literal signature, so that net0 is known and net_x is not. */
function members(
  properties: Record<string, Property>,
  indent: string,
  render: (property: Property, indent: string, key: string) => string,
): string {
  const deeper = `${indent}  `;
  return Object.keys(properties)
    .sort()
    .map((key) => {
      const property = properties[key] ?? {};
      const indexed = INDEXED.exec(key);
      if (indexed)
        return `${deeper}[key: \`${indexed[1]}\${number}\`]: ${render(property, deeper, key)} | undefined;\n`;
      const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
      return `${deeper}${name}${property.optional ? "?" : ""}: ${render(property, deeper, key)};\n`;
    })
    .join("");
}

function render(endpoints: readonly Endpoint[]): string {
  const byCall = new Map(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]));
  const calls = Object.entries(DRIVER_CALLS).map(([call, facts]) => {
    const endpoint = byCall.get(call);
    if (endpoint === undefined) throw new Error(`${call} is not in the schema`);
    const parameters = sentParameters(call, endpoint, facts);
    const written = (property: Property, _: string, key: string) => {
      const parameter = facts.parameters[key];
      if (parameter === undefined) throw new Error(`${call} sends no ${key}`);
      return parameterType(property, parameter);
    };
    const indented = members(parameters, "    ", written);
    const rendered = Object.keys(parameters).length === 0 ? "Record<string, never>" : `{\n${indented}    }`;
    return `  "${call}": {\n    parameters: ${rendered};\n    answer: ${answerType(endpoint.returns, "    ")};\n  };\n`;
  });
  return `// Generated by scripts/generate-types.ts from src/driver-calls/driver-calls.ts and schema/proxmox-api-schema.json. Do
// not edit.

/** The answer's numbers may come as strings: Perl decides per call. Read them with \`readNumber\`. */
export type PveNumber = number | string;
/** The answer's booleans come as 0/1, as strings, or are absent for false. Read them with \`readBoolean\`. */
export type PveBoolean = boolean | number | string;

/** Every call this package may make: what goes in (path, query and form together) and what comes back. */
export type ProxmoxCalls = {
${calls.join("")}};

export type CallName = keyof ProxmoxCalls;
`;
}

function renderRoles(): string {
  const entries = (record: Readonly<Record<string, readonly string[]>>) =>
    Object.entries(record)
      .map(
        ([role, privileges]) =>
          `    ${role}: [\n${privileges.map((each) => `      "${each}",\n`).join("")}    ],\n`,
      )
      .join("");
  return `// Generated by packages/proxmox/scripts/generate-types.ts from the table of the driver's calls. Do not edit.

/** The roles of a region's agent and their privileges, by the major version of Proxmox VE. */
export const AGENT_ROLES: Readonly<Record<8 | 9, Readonly<Record<string, readonly string[]>>>> = {
  8: {
${entries(agentRoles(8))}  },
  9: {
${entries(agentRoles(9))}  },
};
`;
}

const here = (path: string) => new URL(path, import.meta.url);
const schema = JSON.parse(readFileSync(here("../schema/proxmox-api-schema.json"), "utf8")) as {
  endpoints: Endpoint[];
};
for (const [path, text] of [
  ["../src/generated/api.ts", render(schema.endpoints)],
  ["../../lab/src/access/generated/agent-roles.ts", renderRoles()],
] as const) {
  const target = here(path);
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (readFileSync(target, "utf8") !== text) {
    console.error(`${target.pathname} is not current: run npm run generate`);
    process.exit(1);
  }
}
