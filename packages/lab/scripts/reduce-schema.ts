/**
 * Reduces the Proxmox VE API schema to the calls the lab serves: names, types and limits only, no prose.
 *
 *   node scripts/reduce-schema.ts <path to the full schema> [output]
 *
 * Property-string formats are hoisted into `formats` and referenced as "#<n>", because the same ones
 * appear in create, PUT config and POST config.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface FullEndpoint {
  method: string;
  path: string;
  protected?: boolean;
  proxyto?: string | null;
  permissions?: unknown;
  parameters: { properties?: Record<string, unknown> };
}
interface Diff {
  params_added?: string[];
  permissions?: { pve8?: unknown };
}

const SERVED: readonly RegExp[] = [
  /^GET \/version$/,
  /^GET \/access\/(permissions|acl|roles|roles\/\{roleid\})$/,
  /^GET \/access\/users\/\{userid\}\/token(\/\{tokenid\})?$/,
  /^POST \/access\/vncticket$/,
  /^GET \/cluster\/(resources|nextid|status|options|tasks)$/,
  /^(GET|PUT) \/cluster\/firewall\/options$/,
  /^GET \/nodes$/,
  /^GET \/nodes\/\{node\}\/(status|network|version|time|dns)$/,
  /^GET \/nodes\/\{node\}\/storage$/,
  /^GET \/nodes\/\{node\}\/storage\/\{storage\}\/(status|content)$/,
  /^DELETE \/nodes\/\{node\}\/storage\/\{storage\}\/content\/\{volume\}$/,
  /^GET \/storage(\/\{storage\})?$/,
  /^(GET|POST) \/nodes\/\{node\}\/qemu$/,
  /^(GET|DELETE) \/nodes\/\{node\}\/qemu\/\{vmid\}$/,
  /^(GET|PUT|POST) \/nodes\/\{node\}\/qemu\/\{vmid\}\/config$/,
  /^GET \/nodes\/\{node\}\/qemu\/\{vmid\}\/(pending|status|status\/current|agent|firewall|migrate)$/,
  /^(GET|PUT) \/nodes\/\{node\}\/qemu\/\{vmid\}\/cloudinit$/,
  /^GET \/nodes\/\{node\}\/qemu\/\{vmid\}\/cloudinit\/dump$/,
  /^PUT \/nodes\/\{node\}\/qemu\/\{vmid\}\/resize$/,
  /^POST \/nodes\/\{node\}\/qemu\/\{vmid\}\/(clone|template|migrate)$/,
  /^POST \/nodes\/\{node\}\/qemu\/\{vmid\}\/(termproxy|vncproxy)$/,
  /^GET \/nodes\/\{node\}\/qemu\/\{vmid\}\/vncwebsocket$/,
  /^POST \/nodes\/\{node\}\/qemu\/\{vmid\}\/status\/(start|stop|shutdown|reboot|reset|suspend|resume)$/,
  /^GET \/nodes\/\{node\}\/qemu\/\{vmid\}\/agent\/(network-get-interfaces|get-(osinfo|host-name|fsinfo|time|timezone|users|vcpus)|info|exec-status|file-read)$/,
  /^POST \/nodes\/\{node\}\/qemu\/\{vmid\}\/agent\/(ping|exec|file-write|set-user-password)$/,
  /^(GET|PUT) \/nodes\/\{node\}\/qemu\/\{vmid\}\/firewall\/options$/,
  /^(GET|POST) \/nodes\/\{node\}\/qemu\/\{vmid\}\/firewall\/(rules|ipset)$/,
  /^(GET|PUT|DELETE) \/nodes\/\{node\}\/qemu\/\{vmid\}\/firewall\/rules\/\{pos\}$/,
  /^(GET|POST|DELETE) \/nodes\/\{node\}\/qemu\/\{vmid\}\/firewall\/ipset\/\{name\}$/,
  /^(GET|PUT|DELETE) \/nodes\/\{node\}\/qemu\/\{vmid\}\/firewall\/ipset\/\{name\}\/\{cidr\}$/,
  /^GET \/nodes\/\{node\}\/tasks(\/\{upid\}(\/(status|log))?)?$/,
  /^DELETE \/nodes\/\{node\}\/tasks\/\{upid\}$/,
  /^(GET|POST|PUT|DELETE) \/pools(\/\{poolid\})?$/,
];

const [, , source, output = new URL("../src/schema/proxmox-api-schema.json", import.meta.url).pathname] =
  process.argv;
if (source === undefined) {
  process.stderr.write("usage: node scripts/reduce-schema.ts <full schema> [output]\n");
  process.exit(2);
}

const full = JSON.parse(readFileSync(source, "utf8")) as {
  endpoints: FullEndpoint[];
  provenance: { primary: unknown };
  diff_8_to_9: { added_in_9: string[]; changed: Record<string, Diff> };
};

const PROSE = new Set(["description", "verbose_description", "format_description", "typetext", "title"]);
const formats: Record<string, unknown> = {};
const formatNames = new Map<string, string>();

function reduce(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reduce);
  if (value === null || typeof value !== "object") return value;
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    const child = (value as Record<string, unknown>)[key];
    if (PROSE.has(key) && typeof child === "string") continue;
    if (key === "format" && child !== null && typeof child === "object" && "type" in value) {
      const text = JSON.stringify(reduce(child));
      const name = formatNames.get(text) ?? `#${formatNames.size + 1}`;
      formatNames.set(text, name);
      formats[name] = JSON.parse(text);
      result[key] = name;
    } else {
      result[key] = reduce(child);
    }
  }
  return result;
}

const lines: string[] = [];
for (const endpoint of full.endpoints) {
  const id = `${endpoint.method} ${endpoint.path}`;
  if (!SERVED.some((pattern) => pattern.test(id))) continue;
  const diff = full.diff_8_to_9.changed[id];
  lines.push(
    JSON.stringify({
      method: endpoint.method,
      path: endpoint.path,
      protected: endpoint.protected === true || (endpoint.protected as unknown) === 1,
      proxyto: endpoint.proxyto ?? null,
      permissions: reduce(endpoint.permissions ?? null),
      ...(diff?.permissions?.pve8 === undefined ? {} : { permissions_8: { check: diff.permissions.pve8 } }),
      added_in_9: full.diff_8_to_9.added_in_9.includes(id),
      params_added_in_9: diff?.params_added ?? [],
      properties: reduce(endpoint.parameters.properties ?? {}),
    }),
  );
}
const formatLines = Object.entries(formats).map(
  ([name, f]) => `${JSON.stringify(name)}:${JSON.stringify(f)}`,
);
writeFileSync(
  output,
  `{"provenance":${JSON.stringify(full.provenance.primary)},\n"formats":{\n${formatLines.join(",\n")}\n},\n"endpoints":[\n${lines.join(",\n")}\n]}\n`,
);
process.stdout.write(`${lines.length} endpoints, ${formatLines.length} formats -> ${output}\n`);
