const pages: readonly (readonly [prefix: string, path: string])[] = [
  ["srv", "/servers/"],
  ["net", "/networks/"],
  ["fw", "/firewalls/"],
  ["gw", "/gateways/"],
  ["ip", "/public-ips/"],
  ["job", "/jobs/"],
];

/** The page of what an entry is about, where there is one. */
export function resourceAddress(id: string): string | null {
  const path = pages.find(([prefix]) => id.startsWith(`${prefix}_`))?.[1];
  return path === undefined || !/^[\w-]+$/.test(id) ? null : `${path}${id}`;
}
