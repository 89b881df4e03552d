// The rest of the Internet for a lab's DNS: the root and the top-level domain `test`, whose API is the registrar's.

import { type DnsLab, type DnsLabSettings, startDnsLab } from "./dns-lab.ts";

/** What the zones of customers are served by: the star stands for a domain's label. */
export const LAB_NAME_SERVERS = ["*.ns1.lab.test", "*.ns2.lab.test"] as const;

const API = "/api/v1/servers/localhost/zones";
/** Under it customers' domains are registered. */
const TOP_LEVEL_DOMAIN = "test.";

export interface TopLevelSettings extends DnsLabSettings {
  /** The address of `LAB_NAME_SERVERS`, whose port has to be this server's. */
  readonly nameServerAddress: string;
  /** Reverse zones that the root delegates to `LAB_NAME_SERVERS`, such as `2.0.192.in-addr.arpa`. */
  readonly reverseZones?: readonly string[];
}

/**
 * Starts it with both zones; what was entered in an earlier run is there again.
 *
 * @throws PortTaken
 */
export async function startTopLevelZones(settings: TopLevelSettings): Promise<DnsLab> {
  const lab = await startDnsLab(settings);
  try {
    for (const zone of [".", TOP_LEVEL_DOMAIN]) await makeZone(lab, settings.apiKey, zone);
    await call(lab, settings.apiKey, "PATCH", `/${TOP_LEVEL_DOMAIN}`, {
      rrsets: LAB_NAME_SERVERS.map((name) => ({
        name: `${name}.`,
        type: "A",
        ttl: 60,
        changetype: "REPLACE",
        records: [{ content: settings.nameServerAddress, disabled: false }],
      })),
    });
    await delegate(lab, settings);
  } catch (error) {
    await lab.close();
    throw error;
  }
  return lab;
}

/** Whoever assigned the addresses would do it. The names of the name servers are the ones that the zones have. */
async function delegate(lab: DnsLab, { apiKey, reverseZones = [] }: TopLevelSettings): Promise<void> {
  if (reverseZones.length === 0) return;
  // As PowerDNS names the root in a path, where a single dot would be lost.
  await call(lab, apiKey, "PATCH", "/=2E", {
    rrsets: reverseZones.map((zone) => ({
      name: `${zone}.`,
      type: "NS",
      ttl: 60,
      changetype: "REPLACE",
      records: LAB_NAME_SERVERS.map((name) => ({
        content: `${name.replace("*", "reverse")}.`,
        disabled: false,
      })),
    })),
  });
}

/** Where the records of registered domains are entered: PowerDNS' API of the zone `test.`. */
export function registrarUrl(labUrl: string): string {
  return `${labUrl}${API}/${TOP_LEVEL_DOMAIN}`;
}

async function makeZone(lab: DnsLab, apiKey: string, name: string): Promise<void> {
  // 409: an earlier run has made it.
  await call(
    lab,
    apiKey,
    "POST",
    "",
    { name, kind: "Native", nameservers: ["root.lab.test."], soa_edit_api: "INCREASE" },
    [409],
  );
}

async function call(
  lab: DnsLab,
  apiKey: string,
  method: string,
  path: string,
  body: object,
  also: readonly number[] = [],
): Promise<void> {
  const response = await fetch(`${lab.url}${API}${path}`, {
    method,
    headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok && !also.includes(response.status))
    throw new Error(`${method} ${path} of the top-level zones: ${response.status} ${text.slice(0, 300)}`);
}
