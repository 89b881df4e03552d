import { isIPv4, isIPv6 } from "node:net";
import { hasHostBits } from "../vm/clean-cidr.ts";
import { isDriveKey, isOption } from "./option-keys.ts";
import { splitList } from "./property-schema.ts";

const CONFIG_ID = /^[a-z][a-z0-9_-]+$/i;
const NODE = /^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$/;
const DNS_LABEL = "[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?";
const DNS_NAME = new RegExp(`^(${DNS_LABEL}\\.)*${DNS_LABEL}$`);

/** Bytes of a size text such as 40G, 512M or 4096; undefined when it is none. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([KMGT])?(?:iB)?$/.exec(text);
  if (match === null || (/iB$/.test(text) && match[2] === undefined)) return undefined;
  const power = match[2] === undefined ? 0 : "KMGT".indexOf(match[2]) + 1;
  return Math.floor(Number(match[1]) * 1024 ** power);
}

/** The largest unit that divides evenly, as Proxmox VE writes sizes: 40G, 41472M. */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = "";
  for (const next of "KMGT") {
    if (value % 1024 !== 0 || value === 0) break;
    value /= 1024;
    unit = next;
  }
  return `${value}${unit}`;
}

/** Networks of guests are no larger than /8; blocks of the firewall are of any size. */
const SHORTEST_PREFIX_OF_NETWORK = 8;

function cidr(
  text: string,
  family: "ipv4" | "ipv6" | "any",
  shortestPrefix = SHORTEST_PREFIX_OF_NETWORK,
): boolean {
  const [address = "", prefix, rest] = text.split("/");
  if (rest !== undefined || prefix === undefined || !/^\d+$/.test(prefix)) return false;
  const bits = Number(prefix);
  if (family !== "ipv6" && isIPv4(address)) return bits >= shortestPrefix && bits <= 32;
  return family !== "ipv4" && isIPv6(address) && bits >= shortestPrefix && bits <= 128;
}

const isIp = (text: string): boolean => isIPv4(text) || isIPv6(text);

function idCheck(kind: string) {
  return (text: string): string | undefined => {
    if (text.length < 2) return `${kind} ID '${text}' cannot be shorter than 2 characters`;
    return /^[a-z][a-z0-9\-_.]*[a-z0-9]$/i.test(text)
      ? undefined
      : `${kind} ID '${text}' contains illegal characters`;
  };
}

/** A range counts as two numbers. */
function portList(text: string): string | undefined {
  if (text.endsWith(",")) return "extraneous commas in list";
  let numbers = 0;
  for (const part of text.split(",")) {
    const [, first, last] = /^(\d+)(?::(\d+))?$/.exec(part) ?? [];
    if (first === undefined) {
      if (!/^[a-z][a-z0-9_-]*$/i.test(part)) return `invalid port '${part}'`;
      continue;
    }
    numbers += last === undefined ? 1 : 2;
    const tooHigh = [first, last ?? "0"].find((port) => Number(port) > 65_535);
    if (tooHigh !== undefined) return `invalid port '${tooHigh}'`;
    if (last !== undefined && Number(first) > Number(last))
      return `backwards range '${first}:${last}' not allowed, did you mean '${last}:${first}'?`;
  }
  return numbers > 15 ? "too many entries in port list (> 15 numbers)" : undefined;
}

function addressSpec(text: string): string | undefined {
  if (text.length > 512) return "list of addresses too long (> 512 characters)";
  if (/^\+(?:(?:dc|guest|sdn)\/)?[A-Za-z][A-Za-z0-9\-_]+$/.test(text)) return undefined;
  if (/^(?:(?:dc|guest)\/)?[A-Za-z][A-Za-z0-9\-_]+$/.test(text)) return undefined;
  if (text.endsWith(",")) return "extraneous commas in list";
  const parts = text.split(",");
  for (const part of parts) {
    const range = part.split("-");
    const fine =
      range.length === 2 ? range.every(isIp) : isIp(part) || (cidr(part, "any", 0) && !hasHostBits(part));
    if (!fine) return `invalid IP address: Invalid prefix ${part}`;
  }
  if (new Set(parts.map((part) => part.includes(":"))).size > 1)
    return `detected mixed ipv4/ipv6 addresses in address list '${text}'`;
  return parts.length > 1 && text.includes("-") ? "you can't use a range in a list" : undefined;
}

function startupOrder(text: string): boolean {
  return text.split(",").every((part) => /^\s*$|^(order=)?\d+$|^(up|down)=\d+$/.test(part)) && text !== "";
}

function volumeId(text: string): string | undefined {
  return /^([a-z][a-z0-9\-_.]*[a-z0-9]):(.+)$/i.test(text)
    ? undefined
    : `unable to parse volume ID '${text}'`;
}

/** Formats of one text. Each check returns what is wrong, without the line feed, or undefined. */
export const plainFormats: Record<string, (text: string) => string | undefined> = {
  string: () => undefined,
  urlencoded: (t) => (/^[-%a-zA-Z0-9_.!~*'()]*$/.test(t) ? undefined : `invalid urlencoded string: ${t}`),
  "pve-configid": (t) => (CONFIG_ID.test(t) ? undefined : `invalid configuration ID '${t}'`),
  "pve-storage-id": idCheck("storage"),
  "pve-bridge-id": (t) => (/^[-_.\w\d]+$/.test(t) ? undefined : `invalid bridge ID '${t}'`),
  "pve-vmid": (t) => (/^[1-9][0-9]{2,8}$/.test(t) ? undefined : "value does not look like a valid VM ID"),
  "pve-node": (t) => (NODE.test(t) ? undefined : "value does not look like a valid node name"),
  "mac-addr": (t) =>
    /^[a-f0-9][02468ace](?::[a-f0-9]{2}){5}$/i.test(t)
      ? undefined
      : "value does not look like a valid unicast MAC address",
  ipv4: (t) => (isIPv4(t) ? undefined : "value does not look like a valid IPv4 address"),
  ipv6: (t) => (isIPv6(t) ? undefined : "value does not look like a valid IPv6 address"),
  ip: (t) => (isIp(t) ? undefined : "value does not look like a valid IP address"),
  CIDR: (t) => (cidr(t, "any") ? undefined : "value does not look like a valid CIDR network"),
  IPorCIDR: (t) =>
    isIp(t) || cidr(t, "any", 0) ? undefined : "value does not look like a valid IP address or CIDR network",
  IPorCIDRorAlias: (t) =>
    isIp(t) || cidr(t, "any", 0) || /^(?:(?:dc|guest)\/)?[A-Za-z][A-Za-z0-9\-_]+$/.test(t)
      ? undefined
      : "value does not look like a valid IP address or CIDR network",
  "pve-ipv4-config": (t) =>
    t === "dhcp" || cidr(t, "ipv4")
      ? undefined
      : "value does not look like a valid ipv4 network configuration",
  "pve-ipv6-config": (t) =>
    t === "dhcp" || t === "auto" || cidr(t, "ipv6")
      ? undefined
      : "value does not look like a valid ipv6 network configuration",
  "dns-name": (t) => (DNS_NAME.test(t) ? undefined : "value does not look like a valid DNS name"),
  address: (t) =>
    isIp(t) || DNS_NAME.test(t) ? undefined : `value does not look like a valid address: ${t}`,
  "pve-iface": (t) =>
    /^[a-z][a-z0-9_]{1,20}([:.]\d+)?$/i.test(t) ? undefined : `invalid network interface name '${t}'`,
  "disk-size": (t) =>
    parseSize(t) === undefined ? `value does not look like a valid disk size: ${t}` : undefined,
  "pve-startup-order": (t) => (startupOrder(t) ? undefined : "unable to parse startup options"),
  "pve-tag": (t) => (/^[a-z0-9_][a-z0-9_\-+.]*$/i.test(t) ? undefined : "invalid characters in tag"),
  "pve-poolid": (t) =>
    /^[A-Za-z][A-Za-z0-9._-]*(?:\/[A-Za-z0-9._-]+){0,2}$/.test(t) ||
    /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+){0,2}$/.test(t)
      ? undefined
      : `pool name '${t}' contains invalid characters`,
  "pve-priv": (t) => (/^[A-Z][A-Za-z]+(\.[A-Za-z]+)+$/.test(t) ? undefined : `invalid privilege '${t}'`),
  "pve-roleid": (t) =>
    /^[A-Za-z0-9._-]+$/.test(t) ? undefined : `role name '${t}' contains invalid characters`,
  "pve-userid": (t) =>
    /^[^\s:/]+@[A-Za-z][A-Za-z0-9._-]+$/.test(t)
      ? undefined
      : `value '${t}' does not look like a valid user name`,
  "pve-volume-id": volumeId,
  "pve-volume-id-or-absolute-path": (t) => (t.startsWith("/") ? undefined : volumeId(t)),
  "pve-volume-id-or-qm-path": (t) =>
    t === "none" || t === "cdrom" || t.startsWith("/") ? undefined : volumeId(t),
  "pve-storage-content": (t) =>
    ["images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import", "none"].includes(t)
      ? undefined
      : `invalid content type '${t}'`,
  "storage-pair": (t) =>
    t === "1" || t.split(":").length <= 2 ? undefined : `entry '${t}' contains invalid ID`,
  "bridge-pair": (t) =>
    t === "1" || t.split(":").length <= 2 ? undefined : `entry '${t}' contains invalid ID`,
  "pve-cpuset": (t) => (/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(t) ? undefined : "unable to parse cpuset option"),
  "pve-task-status-type": (t) =>
    /^(ok|error|warning|unknown)$/i.test(t) ? undefined : `invalid status '${t}'`,
  "pve-hotplug-features": (t) => {
    const bad =
      t === "0" || t === "1"
        ? undefined
        : splitList(t).find((f) => !/^(network|disk|cpu|memory|usb|cloudinit)$/.test(f));
    return bad === undefined ? undefined : `invalid hotplug feature '${bad}'`;
  },
  "pve-qm-bootdisk": (t) => (isDriveKey(t) ? undefined : `invalid boot disk '${t}'`),
  "pve-qm-bootdev": (t) => {
    const bootable = isDriveKey(t)
      ? !/^(efidisk|tpmstate)/.test(t)
      : /^(net|usb|hostpci)\d+$/.test(t) && isOption(t);
    return bootable ? undefined : `invalid boot device '${t}'`;
  },
  "pve-fw-addr-spec": addressSpec,
  "pve-fw-dport-spec": portList,
  "pve-fw-sport-spec": portList,
  "pve-fw-protocol-spec": (t) => (/^[a-z0-9-]+$/i.test(t) ? undefined : `unknown protocol '${t}'`),
  "pve-fw-icmp-type-spec": (t) => (/^[a-z0-9-]+$/i.test(t) ? undefined : `unknown icmp-type '${t}'`),
};
