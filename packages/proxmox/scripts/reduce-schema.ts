// Reduces a Proxmox VE API schema (the api-viewer's tree, flattened to one entry a call) to the calls of this
// package and to the facts that types are generated from. Run it only to move to a newer schema: node
// scripts/reduce-schema.ts /path/to/full-schema.json The text of the descriptions belongs to Proxmox and is
// never copied; names, types and limits are facts.
import { readFileSync, writeFileSync } from "node:fs";

const CALLS = `
GET /version
GET /access/permissions
POST /access/vncticket
GET /cluster/nextid
GET /cluster/options
GET /cluster/resources
GET /cluster/status
GET /cluster/tasks
GET /cluster/firewall/options
GET /nodes
GET /nodes/{node}/network
GET /nodes/{node}/status
GET /nodes/{node}/storage
GET /nodes/{node}/storage/{storage}/content
GET /nodes/{node}/storage/{storage}/status
DELETE /nodes/{node}/storage/{storage}/content/{volume}
GET /nodes/{node}/tasks
GET /nodes/{node}/tasks/{upid}/log
GET /nodes/{node}/tasks/{upid}/status
GET /nodes/{node}/qemu
GET /nodes/{node}/qemu/{vmid}/config
PUT /nodes/{node}/qemu/{vmid}/config
POST /nodes/{node}/qemu/{vmid}/config
GET /nodes/{node}/qemu/{vmid}/pending
GET /nodes/{node}/qemu/{vmid}/status/current
GET /nodes/{node}/qemu/{vmid}/cloudinit
PUT /nodes/{node}/qemu/{vmid}/cloudinit
GET /nodes/{node}/qemu/{vmid}/cloudinit/dump
POST /nodes/{node}/qemu/{vmid}/clone
PUT /nodes/{node}/qemu/{vmid}/resize
PUT /nodes/{node}/qemu/{vmid}/unlink
POST /nodes/{node}/qemu/{vmid}/template
DELETE /nodes/{node}/qemu/{vmid}
POST /nodes/{node}/qemu/{vmid}/status/start
POST /nodes/{node}/qemu/{vmid}/status/stop
POST /nodes/{node}/qemu/{vmid}/status/shutdown
POST /nodes/{node}/qemu/{vmid}/status/reboot
POST /nodes/{node}/qemu/{vmid}/status/reset
POST /nodes/{node}/qemu/{vmid}/status/resume
GET /nodes/{node}/qemu/{vmid}/snapshot
POST /nodes/{node}/qemu/{vmid}/snapshot
DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname}
POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback
GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces
GET /nodes/{node}/qemu/{vmid}/agent/get-osinfo
GET /nodes/{node}/qemu/{vmid}/agent/get-host-name
GET /nodes/{node}/qemu/{vmid}/agent/exec-status
POST /nodes/{node}/qemu/{vmid}/agent/ping
POST /nodes/{node}/qemu/{vmid}/agent/exec
POST /nodes/{node}/qemu/{vmid}/agent/file-write
POST /nodes/{node}/qemu/{vmid}/agent/set-user-password
POST /nodes/{node}/qemu/{vmid}/termproxy
POST /nodes/{node}/qemu/{vmid}/vncproxy
GET /nodes/{node}/qemu/{vmid}/vncwebsocket
GET /nodes/{node}/qemu/{vmid}/firewall/options
PUT /nodes/{node}/qemu/{vmid}/firewall/options
GET /nodes/{node}/qemu/{vmid}/firewall/rules
POST /nodes/{node}/qemu/{vmid}/firewall/rules
PUT /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}
DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}
GET /nodes/{node}/qemu/{vmid}/firewall/ipset
POST /nodes/{node}/qemu/{vmid}/firewall/ipset
DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}
GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}
POST /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}
DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}
GET /nodes/{node}/qemu/{vmid}/firewall/aliases
DELETE /nodes/{node}/qemu/{vmid}/firewall/aliases/{name}
GET /pools
POST /pools
PUT /pools
DELETE /pools
`
  .trim()
  .split("\n");

type Property = Record<string, unknown>;
type Endpoint = {
  method: string;
  path: string;
  name: string;
  parameters?: { properties?: Record<string, Property> };
  returns?: Property;
};

const KEPT = [
  "type",
  "optional",
  "enum",
  "minimum",
  "maximum",
  "maxLength",
  "pattern",
  "format",
  "properties",
  "items",
  "additionalProperties",
  "requires",
];

/** The facts of one property, without its texts, defaults and the inside of property-string formats. */
function facts(property: Property): Property {
  const kept: Property = {};
  for (const key of KEPT) {
    const value = property[key];
    if (value === undefined) continue;
    if (key === "properties") kept[key] = mapValues(value as Record<string, Property>, facts);
    else if (key === "items") kept[key] = facts(value as Property);
    else if (key === "format" && typeof value !== "string") kept[key] = "property-string";
    else kept[key] = value;
  }
  return kept;
}

function mapValues<In, Out>(record: Record<string, In>, change: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

const source = process.argv[2];
if (!source) throw new Error("usage: node scripts/reduce-schema.ts full-schema.json");
const full = JSON.parse(readFileSync(source, "utf8")) as { provenance: unknown; endpoints: Endpoint[] };
const byCall = new Map(full.endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]));
const lines = CALLS.map((call) => {
  const endpoint = byCall.get(call);
  if (!endpoint) throw new Error(`${call} is not in the schema`);
  const { method, path, name } = endpoint;
  const parameters = mapValues(endpoint.parameters?.properties ?? {}, facts);
  return JSON.stringify({
    method,
    path,
    name,
    parameters,
    returns: facts(endpoint.returns ?? { type: "null" }),
  });
});
const provenance = JSON.stringify({
  source: "proxmox/pve-docs 9.1.3 (trixie), api-viewer/apidata.js, commit e5010dc, refreshed 2026-04-30",
  reduction:
    "scripts/reduce-schema.ts: our calls only; no descriptions, defaults or property-string grammars",
});
writeFileSync(
  new URL("../schema/proxmox-api-schema.json", import.meta.url),
  `{"provenance":${provenance},\n"endpoints":[\n${lines.join(",\n")}\n]}\n`,
);
console.log(`${lines.length} calls written`);
