import { INDEXED_OPTIONS } from "./option-keys.ts";
import type { PropertyFormat, PropertySchema } from "./property-schema.ts";
import reduced from "./proxmox-api-schema.json" with { type: "json" };

/** Which Proxmox VE the lab pretends to be. */
export type ProxmoxVersion = "8.2" | "8.4" | "9.0" | "9.2";

/** One call of the API: its required rights and its parameters. */
export interface Endpoint {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Runs in the root daemon behind a 30 s proxy hop. */
  readonly protected: boolean;
  readonly proxyto: string | null;
  readonly permissions: { readonly check?: readonly unknown[]; readonly user?: string } | null;
  readonly properties: Readonly<Record<string, PropertySchema>>;
}

interface ReducedEndpoint {
  method: string;
  path: string;
  protected: boolean;
  proxyto: string | null;
  permissions: Endpoint["permissions"];
  permissions_8?: Endpoint["permissions"];
  added_in_9: boolean;
  params_added_in_9: string[];
  properties: Record<string, PropertySchema>;
}

export const schemaFormats = reduced.formats as unknown as Readonly<Record<string, PropertyFormat>>;

function expandIndexed(properties: Record<string, PropertySchema>): Record<string, PropertySchema> {
  const result: Record<string, PropertySchema> = {};
  for (const [key, property] of Object.entries(properties)) {
    if (!key.endsWith("[n]")) {
      result[key] = property;
      continue;
    }
    const base = key.slice(0, -3);
    for (let index = 0; index < (INDEXED_OPTIONS[base] ?? 1); index++) result[`${base}${index}`] = property;
  }
  return result;
}

/** Every option of a VM configuration with its schema, indexed ones spelled out. */
export const configOptions: Readonly<Record<string, PropertySchema>> = expandIndexed(
  (reduced.endpoints as unknown as ReducedEndpoint[]).find(
    ({ method, path }) => method === "PUT" && path === "/nodes/{node}/qemu/{vmid}/config",
  )?.properties ?? {},
);

interface PathNode {
  readonly literal: Map<string, PathNode>;
  parameter: { readonly name: string; readonly node: PathNode } | undefined;
  readonly methods: Map<string, Endpoint>;
}
const newNode = (): PathNode => ({ literal: new Map(), parameter: undefined, methods: new Map() });

/** The calls of one Proxmox VE version, found by method and path. */
export interface ApiSchema {
  readonly endpoints: readonly Endpoint[];
  /** Undefined when there is no such call: the answer is 501. */
  find(method: string, path: string): { endpoint: Endpoint; uri: Record<string, string> } | undefined;
}

const schemas = new Map<ProxmoxVersion, ApiSchema>();

/** The schema as `version` has it: what 9 added is unknown to 8, so that a driver that sends it is refused. */
export function apiSchema(version: ProxmoxVersion): ApiSchema {
  const schema = schemas.get(version) ?? readSchema(version);
  schemas.set(version, schema);
  return schema;
}

function readSchema(version: ProxmoxVersion): ApiSchema {
  const eight = version.startsWith("8");
  const root = newNode();
  const endpoints: Endpoint[] = [];
  for (const entry of reduced.endpoints as unknown as ReducedEndpoint[]) {
    const id = `${entry.method} ${entry.path}`;
    // POST /access/vncticket reached 8.4 by a point release (libpve-access-control 8.2.x).
    const backported = id === "POST /access/vncticket" && version === "8.4";
    if (eight && entry.added_in_9 && !backported) continue;
    if (id === "POST /access/vncticket" && version === "9.0") continue;
    const properties = expandIndexed(entry.properties);
    if (eight) for (const name of entry.params_added_in_9) delete properties[name];
    const endpoint: Endpoint = {
      id,
      method: entry.method,
      path: entry.path,
      protected: entry.protected,
      proxyto: entry.proxyto,
      permissions: eight && entry.permissions_8 !== undefined ? entry.permissions_8 : entry.permissions,
      properties,
    };
    endpoints.push(endpoint);
    let node = root;
    for (const part of entry.path.split("/").slice(1)) {
      if (part.startsWith("{")) {
        node.parameter ??= { name: part.slice(1, -1), node: newNode() };
        node = node.parameter.node;
      } else {
        const next = node.literal.get(part) ?? newNode();
        node.literal.set(part, next);
        node = next;
      }
    }
    node.methods.set(entry.method, endpoint);
  }
  return {
    endpoints,
    find: (method, path) => {
      const uri: Record<string, string> = {};
      let node = root;
      const parts = path.split("/").filter((part) => part !== "");
      for (const [index, part] of parts.entries()) {
        const literal = node.literal.get(part);
        if (literal !== undefined) {
          node = literal;
        } else if (node.parameter !== undefined) {
          const { name, node: next } = node.parameter;
          node = next;
          // The path is decoded before it is split, so a volume or a CIDR holds slashes: these take the rest.
          if (name === "volume" || name === "cidr") {
            uri[name] = parts.slice(index).join("/");
            break;
          }
          uri[name] = part;
        } else {
          return undefined;
        }
      }
      const endpoint = node.methods.get(method);
      return endpoint === undefined ? undefined : { endpoint, uri };
    },
  };
}
