import { failure, permissionDenied } from "../api-error.ts";
import type { Region } from "../region.ts";
import type { Runtime } from "../runtime.ts";
import { configOptions } from "../schema/api-schema.ts";
import { parsePropertyString } from "../schema/check-property.ts";
import { FormatError, type PropertyMap } from "../schema/property-schema.ts";
import { printPropertyString } from "../schema/property-string.ts";

const NET_FORMAT = configOptions.net0?.format ?? "";

/** Three random bytes behind Proxmox' own prefix, in upper case. */
export function randomMac(runtime: Runtime): string {
  const bytes = Array.from({ length: 3 }, () => Math.floor(runtime.random() * 256));
  return ["BC", "24", "11", ...bytes.map((b) => b.toString(16).toUpperCase().padStart(2, "0"))].join(":");
}

export function parseNet(value: string): PropertyMap {
  try {
    return parsePropertyString(NET_FORMAT, value);
  } catch (error) {
    if (error instanceof FormatError) throw failure("unable to parse network options");
    throw error;
  }
}

export const printNet = (net: PropertyMap): string => printPropertyString(net, NET_FORMAT);

/** Normalises a network device; a missing MAC address becomes a new random one, every time. */
export function normaliseNet(runtime: Runtime, value: string): string {
  const net = parseNet(value);
  return printNet({ ...net, macaddr: net.macaddr ?? randomMac(runtime) });
}

/** SDN.Use on the bridge, or on bridge and VLAN, for every network device given. */
export function requireBridgeAccess(
  region: Region,
  authUser: string,
  config: Readonly<Record<string, string>>,
): void {
  if (authUser === "root@pam") return;
  for (const key of Object.keys(config).sort()) {
    const value = config[key];
    if (!/^net\d+$/.test(key) || value === undefined) continue;
    const { bridge, tag, trunks } = parseNet(value);
    if (bridge === undefined) continue;
    const path = `/sdn/zones/localnetwork/${bridge}`;
    const tags = [...(tag === undefined ? [] : [tag]), ...(trunks?.split(";") ?? [])];
    if (tags.length === 0) region.permissions.require(authUser, path, "SDN.Use");
    for (const vlan of tags) region.permissions.require(authUser, `${path}/${vlan}`, "SDN.Use");
  }
}

/** A VM starts only when its bridges exist on the node. */
export function missingBridge(region: Region, config: Readonly<Record<string, string>>): string | undefined {
  return Object.entries(config)
    .filter(([key]) => /^net\d+$/.test(key))
    .map(([, value]) => parseNet(value).bridge)
    .find((bridge) => bridge !== undefined && region.store.get("bridge", bridge) === undefined);
}

/** True when the caller may see the bridge in the node's network list. */
export function seesBridge(region: Region, authUser: string, bridge: string): boolean {
  const base = `/sdn/zones/localnetwork/${bridge}`;
  const paths = [
    base,
    ...region.store.all("acl").flatMap(({ path }) => (path.startsWith(`${base}/`) ? [path] : [])),
  ];
  try {
    for (const path of paths) {
      const held = region.permissions.on(authUser, path);
      if (held.has("SDN.Audit") || held.has("SDN.Use")) return true;
    }
    throw permissionDenied();
  } catch {
    return false;
  }
}
