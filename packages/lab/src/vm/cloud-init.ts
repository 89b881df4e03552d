import { createHash } from "node:crypto";
import type { CloudInitDrive } from "../documents.ts";
import { parsePropertyString } from "../schema/check-property.ts";
import type { PropertyMap } from "../schema/property-schema.ts";
import { PASSWORD_MASK } from "./config-file.ts";
import { parseNet } from "./networks.ts";

type Config = Readonly<Record<string, string>>;

/** The node's own resolv.conf, which leaks into guests whose config names no DNS. */
const HOST_RESOLVER = { search: "lab.internal", nameservers: ["192.0.2.53"] } as const;

export const isWindows = (config: Config): boolean => /^(w2k|wxp|wvista|win)/.test(config.ostype ?? "");

/** nocloud unless the config names another type or the guest is Windows. */
export function cloudInitType(config: Config): string {
  return config.citype ?? (isWindows(config) ? "configdrive2" : "nocloud");
}

/** Keys whose change makes the drive stale. */
export function isCloudInitProperty(key: string): boolean {
  return (
    /^(cicustom|cipassword|citype|ciuser|ciupgrade|nameserver|searchdomain|sshkeys|name)$/.test(key) ||
    /^(ipconfig|net)\d+$/.test(key)
  );
}

export function sshKeyLines(config: Config): string[] {
  return decodeURIComponent(config.sshkeys ?? "")
    .split("\n")
    .filter((line) => /\S/.test(line));
}

function hostname(config: Config, vmid: number): { host: string; fqdn: string } {
  const name = config.name ?? `VM${vmid}`;
  if (name.includes(".")) return { host: name.replace(/\..*$/, ""), fqdn: name };
  const search = config.searchdomain;
  return { host: name, fqdn: search === undefined ? name : `${name}.${search}` };
}

function dns(config: Config): { search: string[]; nameservers: string[] } {
  const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");
  return {
    search: words(config.searchdomain ?? HOST_RESOLVER.search),
    nameservers: config.nameserver === undefined ? [...HOST_RESOLVER.nameservers] : words(config.nameserver),
  };
}

interface Interface {
  readonly name: string;
  readonly mac: string;
  readonly ip: PropertyMap;
}

function interfaces(config: Config): Interface[] {
  return Object.keys(config)
    .filter((key) => /^net\d+$/.test(key))
    .sort()
    .flatMap((key) => {
      const index = key.slice(3);
      const text = config[`ipconfig${index}`];
      if (text === undefined) return [];
      const ip = parsePropertyString("pve-qm-ipconfig", text);
      // Neither address family: DHCP.
      if (ip.ip === undefined && ip.ip6 === undefined) ip.ip = "dhcp";
      return [{ name: `eth${index}`, mac: (parseNet(config[key] ?? "").macaddr ?? "").toLowerCase(), ip }];
    });
}

function netmask(prefix: number): string {
  const bits = prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0;
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
}
const splitV4 = (cidr: string): { address: string; mask: string } => {
  const [address = "", prefix = "32"] = cidr.split("/");
  return { address, mask: netmask(Number(prefix)) };
};

/** Keys and user name go into the YAML without quotes, as in the original: what is in them is in the YAML. */
function userData(config: Config, vmid: number, maskPassword: boolean): string {
  const { host, fqdn } = hostname(config, vmid);
  const user = config.ciuser;
  const password = config.cipassword;
  const lines = ["#cloud-config", `hostname: ${host}`, "manage_etc_hosts: true", `fqdn: ${fqdn}`];
  if (user !== undefined) lines.push(`user: ${user}`);
  if (user === "root") lines.push("disable_root: False");
  if (password !== undefined) lines.push(`password: ${maskPassword ? PASSWORD_MASK : password}`);
  if (config.sshkeys !== undefined) {
    lines.push("ssh_authorized_keys:", ...sshKeyLines(config).map((key) => `  - ${key}`));
  }
  lines.push("chpasswd:", "  expire: False");
  if (user !== "root") lines.push("users:", "  - default");
  if ((config.ciupgrade ?? "1") === "1") lines.push("package_upgrade: true");
  return `${lines.join("\n")}\n`;
}

function networkVersion1(config: Config): string {
  const pad = "    ";
  const lines = ["version: 1", "config:"];
  for (const { name, mac, ip } of interfaces(config)) {
    lines.push(
      `${pad}- type: physical`,
      `${pad}  name: ${name}`,
      `${pad}  mac_address: '${mac}'`,
      `${pad}  subnets:`,
    );
    const v4 = ip.ip;
    if (v4 === "dhcp") {
      lines.push(`${pad}  - type: dhcp4`);
    } else if (v4 !== undefined) {
      const { address, mask } = splitV4(v4);
      lines.push(`${pad}  - type: static`, `${pad}    address: '${address}'`, `${pad}    netmask: '${mask}'`);
      if (ip.gw !== undefined) lines.push(`${pad}    gateway: '${ip.gw}'`);
    }
    const v6 = ip.ip6;
    if (v6 === "dhcp") lines.push(`${pad}  - type: dhcp6`);
    else if (v6 === "auto") lines.push(`${pad}  - type: ipv6_slaac`);
    else if (v6 !== undefined) {
      lines.push(`${pad}  - type: static6`, `${pad}    address: '${v6}'`);
      if (ip.gw6 !== undefined) lines.push(`${pad}    gateway: '${ip.gw6}'`);
    }
  }
  const { search, nameservers } = dns(config);
  lines.push(`${pad}- type: nameserver`);
  if (nameservers.length > 0) lines.push(`${pad}  address:`, ...nameservers.map((s) => `${pad}  - '${s}'`));
  if (search.length > 0) lines.push(`${pad}  search:`, ...search.map((s) => `${pad}  - '${s}'`));
  return `${lines.join("\n")}\n`;
}

function networkEni(config: Config, windows: boolean): string {
  const { search, nameservers } = dns(config);
  const lines: string[] = [];
  if (!windows) {
    lines.push("auto lo", "iface lo inet loopback", "");
    if (nameservers.length > 0) lines.push(`        dns_nameservers ${nameservers.join(" ")}`);
    if (search.length > 0) lines.push(`        dns_search ${search.join(" ")}`);
  }
  const perInterfaceDns =
    windows && nameservers.length > 0 ? [`        dns-nameservers ${nameservers.join(" ")}`] : [];
  for (const { name, ip } of interfaces(config)) {
    lines.push(`auto ${name}`);
    const v4 = ip.ip;
    if (v4 === "dhcp") {
      lines.push(`iface ${name} inet dhcp`);
    } else if (v4 !== undefined) {
      const { address, mask } = splitV4(v4);
      lines.push(`iface ${name} inet static`, `        address ${address}`, `        netmask ${mask}`);
      if (ip.gw !== undefined) lines.push(`        gateway ${ip.gw}`);
      lines.push(...perInterfaceDns);
    }
    const v6 = ip.ip6;
    if (v6 === "dhcp" || v6 === "auto") {
      lines.push(`iface ${name} inet6 ${v6}`);
    } else if (v6 !== undefined) {
      const [address = "", mask = ""] = v6.split("/");
      lines.push(`iface ${name} inet6 static`, `        address ${address}`, `        netmask ${mask}`);
      if (ip.gw6 !== undefined) lines.push(`        gateway ${ip.gw6}`);
      lines.push(...perInterfaceDns);
    }
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** Instance id: any change of user or network data makes the guest a new instance to cloud-init. */
const instanceId = (user: string, network: string): string =>
  createHash("sha1")
    .update(user + network)
    .digest("hex");

function metaData(config: Config, user: string, network: string): string {
  const id = instanceId(user, network);
  if (cloudInitType(config) === "nocloud") return `instance-id: ${id}\n`;
  if (!isWindows(config)) {
    return `{\n     "uuid": "${id}",\n     "network_config": { "content_path": "/content/0000" }\n}\n`;
  }
  const keys = Object.fromEntries(sshKeyLines(config).map((key, index) => [`key-${index}`, key]));
  return JSON.stringify({
    uuid: id,
    network_config: { content_path: "/content/0000" },
    ...(config.cipassword === undefined ? {} : { admin_pass: config.cipassword }),
    ...(config.sshkeys === undefined ? {} : { public_keys: keys }),
  });
}

/** The files of the cloud-init drive. `maskPassword` hides the password in the user data. */
export function cloudInitFiles(config: Config, vmid: number, maskPassword = false): CloudInitDrive {
  const user = userData(config, vmid, maskPassword);
  const network =
    cloudInitType(config) === "nocloud" ? networkVersion1(config) : networkEni(config, isWindows(config));
  return { user, network, meta: metaData(config, user, network) };
}

/** The instance id the guest reads from a drive. */
export function instanceIdOf(drive: CloudInitDrive): string {
  return /instance-id: (\w+)/.exec(drive.meta)?.[1] ?? /"uuid":\s*"(\w+)"/.exec(drive.meta)?.[1] ?? "";
}

/** The password in clear that a drive has for a Windows; undefined for a drive without one. */
export function adminPasswordOf(drive: CloudInitDrive): string | undefined {
  try {
    const meta = JSON.parse(drive.meta) as { readonly admin_pass?: unknown };
    return typeof meta.admin_pass === "string" ? meta.admin_pass : undefined;
  } catch {
    return undefined;
  }
}

/** The name that a drive gives the guest; null for a drive that names none. */
export function hostnameOf(drive: CloudInitDrive): string | null {
  return /^hostname: (.+)$/m.exec(drive.user)?.[1] ?? null;
}
