import { writeFileSync } from "node:fs";
import { LAB_NAME_SERVERS, registrarUrl } from "@kule/lab/dns/top-level-zones";
import { labReverseZones } from "./public-addresses.ts";

/** The lab DNS' description of itself in dns.json. */
export interface LabDnsDescription {
  /** Where domains are served: address and port. */
  address: string;
  /** Where the name servers of the root and of `test` answer, on the same port. */
  internet: string;
  /** Why a stand-in serves them; absent when PowerDNS does. */
  without_powerdns?: string;
}

/** Where the parts of the lab's DNS listen, and their keys. */
export interface LabDnsAccess {
  readonly dnsPort: number;
  readonly apiPort: number;
  readonly apiKey: string;
  readonly registrarPort: number;
  readonly registrarKey: string;
}

/** The variable of the worker that the DNS file names. */
const keyVariable = "KULE_DNS_API_KEY";

/** The environment of the DNS' process. */
export function labDnsEnv(dataDir: string, access: LabDnsAccess): Record<string, string> {
  return {
    KULE_LAB_DNS_DIR: dataDir,
    KULE_LAB_DNS_PORT: String(access.dnsPort),
    KULE_LAB_DNS_API_PORT: String(access.apiPort),
    KULE_LAB_DNS_API_KEY: access.apiKey,
    KULE_LAB_REGISTRAR_PORT: String(access.registrarPort),
    KULE_LAB_REGISTRAR_KEY: access.registrarKey,
    KULE_LAB_REVERSE_ZONES: labReverseZones.map(({ zone }) => zone).join(" "),
  };
}

/** What both need to serve domains, and the key, which is the worker's alone. */
export function controlPlaneDnsEnv(
  file: string,
  { apiKey }: LabDnsAccess,
): { readonly api: Record<string, string>; readonly worker: Record<string, string> } {
  return { api: { KULE_DNS_FILE: file }, worker: { [keyVariable]: apiKey } };
}

/** Writes the DNS file with which API and worker use the lab's DNS, in the form that an operator would write. */
export function writeDnsFile(path: string, { address, internet }: LabDnsDescription, access: LabDnsAccess) {
  const [host = ""] = address.split(":");
  const lines = [
    "# The lab's DNS of `npm start`, written at every start. docs/dns.md explains every key.",
    "provider:",
    "  type: powerdns",
    `  url: http://${host}:${access.apiPort}`,
    `  api_key_env: ${keyVariable}`,
    "name_servers:",
    ...LAB_NAME_SERVERS.map(
      (name) => `  - { name: "${name}", addresses: [${host}], port: ${access.dnsPort} }`,
    ),
    "resolving:",
    `  roots: [${internet}]`,
    `  port: ${access.dnsPort}`,
    "  allow_private: true",
    "reverse_zones:",
    ...labReverseZones.map(({ block }) => `  - "${block}"`),
  ];
  writeFileSync(path, `${lines.join("\n")}\n`);
}

/** What quickstart.json says of it. */
export function shownDns({ address, internet }: LabDnsDescription, access: LabDnsAccess) {
  return {
    /** As node:dns' `setServers` takes it. */
    dns_server: address,
    registrar_url: registrarUrl(`http://${internet}:${access.registrarPort}`),
    registrar_key: access.registrarKey,
  };
}
