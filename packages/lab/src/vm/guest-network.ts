import type { CloudInitDrive, GuestAddress, GuestMemory, GuestRoute, VmDocument } from "../documents.ts";
import { adminPasswordOf, hostnameOf, instanceIdOf, isWindows } from "./cloud-init.ts";
import { parseNet } from "./networks.ts";

/*
 * The network as the guest has configured it. Its configuration is on its disk: what cloud-init rendered when
 * it last found a new instance id on its drive, and files that commands of the guest agent wrote. It is
 * applied at boot and by a command, and in no other way: a running guest does not read addresses in the VM's
 * config.
 */

type InterfaceConfig = {
  readonly mac: string;
  readonly addresses: readonly GuestAddress[];
  readonly routes: readonly GuestRoute[];
};
type Result = { readonly exitcode: number; readonly output: string; readonly guest?: GuestMemory };

const NETPLAN = /^\/etc\/netplan\/[\w.-]+\.yaml$/;
const KEYFILE = /^\/etc\/NetworkManager\/system-connections\/[\w.-]+\.nmconnection$/;

/** The same VM with its guest booted: a new instance id makes cloud-init render the network, and make new host keys. */
export function bootGuest(vm: VmDocument): VmDocument {
  const instance = vm.drive === null ? null : instanceIdOf(vm.drive);
  const isNew = instance !== null && instance !== vm.guest.bootedInstanceId;
  const guest: GuestMemory = {
    ...vm.guest,
    bootedInstanceId: instance ?? vm.guest.bootedInstanceId,
    firstBoots: vm.guest.firstBoots + (isNew ? 1 : 0),
    ...(isNew && vm.drive !== null
      ? { rendered: vm.drive.network, passwords: passwordsOfInstance(vm, vm.drive) }
      : {}),
    ...(vm.drive === null ? {} : { hostname: hostnameOf(vm.drive) ?? vm.config.name ?? "localhost" }),
  };
  return { ...vm, guest: configured(vm, guest) };
}

/**
 * cloud-init sets the accounts' passwords again when it finds a new instance id. cloudbase-init of an image
 * as docs/products/regions.md describes leaves them alone; one that finds a password on its drive sets it
 * here as well.
 */
function passwordsOfInstance(vm: VmDocument, drive: CloudInitDrive): GuestMemory["passwords"] {
  return isWindows(vm.config) && adminPasswordOf(drive) === undefined ? vm.guest.passwords : {};
}

/** The guest after it has applied everything on its disk, for the interfaces that it has now. */
function configured(vm: VmDocument, guest: GuestMemory): GuestMemory {
  const told = [
    ...fromCloudInit(vm, guest.rendered ?? ""),
    ...Object.entries(guest.files ?? {}).flatMap(fromFile),
  ];
  const addresses: Record<string, readonly GuestAddress[]> = {};
  const routes: Record<string, readonly GuestRoute[]> = {};
  for (const mac of macsOf(vm)) {
    const own = told.filter((each) => each.mac === mac);
    if (own.length === 0) continue;
    addresses[mac] = own.flatMap((each) => each.addresses);
    routes[mac] = own.flatMap((each) => each.routes);
  }
  return { ...guest, addresses, routes };
}

export function macsOf(vm: VmDocument): string[] {
  return Object.keys(vm.config)
    .filter((key) => /^net\d+$/.test(key))
    .sort()
    .map((key) => (parseNet(vm.config[key] ?? "").macaddr ?? "").toLowerCase());
}

const prefixOf = (mask: string): number =>
  mask
    .split(".")
    .map((octet) => Number(octet).toString(2).replaceAll("0", "").length)
    .reduce((sum, bits) => sum + bits, 0);

function address(text: string, prefix: number): GuestAddress {
  return {
    "ip-address": text,
    "ip-address-type": text.includes(":") ? "ipv6" : "ipv4",
    prefix,
  };
}

const defaultRoute = (via: string): GuestRoute => ({ to: via.includes(":") ? "::/0" : "0.0.0.0/0", via });

function fromCidr(text: string): GuestAddress {
  const [ip = "", prefix = ""] = text.split("/");
  return address(ip, Number(prefix));
}

/** The content of version 1 and ENI files, as far as the lab writes them. */
function fromCloudInit(vm: VmDocument, text: string): InterfaceConfig[] {
  if (text.startsWith("version: 1")) {
    return text
      .split("- type: physical")
      .slice(1)
      .map((part) => {
        const mac = /mac_address: '([^']+)'/.exec(part)?.[1] ?? "";
        const v4 = /type: static\n\s+address: '([^']+)'\n\s+netmask: '([^']+)'/.exec(part);
        const v6 = /type: static6\n\s+address: '([^']+)'/.exec(part);
        return {
          mac,
          addresses: [
            ...(v4 === null ? [] : [address(v4[1] ?? "", prefixOf(v4[2] ?? ""))]),
            ...(v6 === null ? [] : [fromCidr(v6[1] ?? "")]),
          ],
          routes: [...part.matchAll(/gateway: '([^']+)'/g)].map(([, via = ""]) => defaultRoute(via)),
        };
      });
  }
  return [
    ...text.matchAll(
      /iface eth(\d+) inet6? static\n\s+address (\S+)\n\s+netmask (\S+)(?:\n\s+gateway (\S+))?/g,
    ),
  ].flatMap(([, index = "", ip = "", mask = "", gateway]) => {
    const device = vm.config[`net${index}`];
    if (device === undefined) return [];
    const mac = (parseNet(device).macaddr ?? "").toLowerCase();
    return {
      mac,
      addresses: [address(ip, mask.includes(".") ? prefixOf(mask) : Number(mask))],
      routes: gateway === undefined ? [] : [defaultRoute(gateway)],
    };
  });
}

function fromFile([path, content]: [string, string]): InterfaceConfig[] {
  return NETPLAN.test(path) ? fromNetplan(content) : fromKeyfile(content);
}

interface Netplan {
  readonly network?: {
    readonly version?: number;
    readonly ethernets?: Readonly<
      Record<
        string,
        {
          readonly match?: { readonly macaddress?: string };
          readonly addresses?: readonly string[];
          readonly routes?: readonly { readonly to?: string; readonly via?: string }[];
        }
      >
    >;
  };
}

/** Netplan reads YAML, of which JSON is a part; the lab reads that part. Throws for what netplan would refuse. */
function fromNetplan(content: string): InterfaceConfig[] {
  const { network } = JSON.parse(content) as Netplan;
  if (network?.version !== 2) throw new Error("network.version must be 2");
  return Object.values(network.ethernets ?? {}).map(({ match, addresses = [], routes = [] }) => {
    if (!addresses.every((each) => /^[0-9a-f.:]+\/\d+$/.test(each)))
      throw new Error("address is missing /prefixlength");
    if (!routes.every(({ to, via }) => to !== undefined && via !== undefined))
      throw new Error("unicast route must include both a 'to' and 'via' IP");
    return {
      mac: match?.macaddress?.toLowerCase() ?? "",
      addresses: addresses.map(fromCidr),
      routes: routes.map(({ to = "", via = "" }) => (to === "default" ? defaultRoute(via) : { to, via })),
    };
  });
}

function fromKeyfile(content: string): InterfaceConfig[] {
  const mac = /^mac-address=(\S+)$/m.exec(content)?.[1]?.toLowerCase();
  if (mac === undefined) return [];
  return [
    {
      mac,
      addresses: [...content.matchAll(/^address\d*=([0-9a-f.:]+\/\d+)/gm)].map(([, text = ""]) =>
        fromCidr(text),
      ),
      routes: [...content.matchAll(/^route\d*=([0-9a-f.:]+\/\d+),([0-9a-f.:]+)/gm)].map(
        ([, to = "", via = ""]) => ({ to, via }),
      ),
    },
  ];
}

/** The effect of the commands that configure a network in this guest; null for other programs. */
export function runNetworkCommand(vm: VmDocument, command: readonly string[], input: string): Result | null {
  const [program = "", ...args] = command;
  const { guest } = vm;
  const files = guest.files ?? {};
  if (program === "install") return install(vm, args, input);
  if (program === "cmp") return compare(vm, args, input);
  if (program === "rm") {
    const [flag, path = "", ...more] = args;
    if (flag !== "-f" || more.length > 0) return { exitcode: 1, output: "" };
    const { [path]: _gone, ...left } = files;
    return { exitcode: 0, output: "", guest: { ...guest, files: left } };
  }
  if (program === "netplan") {
    if (toolOf(vm) !== "netplan") return { exitcode: 127, output: "" };
    if (args.join(" ") !== "apply") return { exitcode: 2, output: "" };
    return takeUp(vm);
  }
  if (program === "nmcli") {
    if (toolOf(vm) !== "network_manager") return { exitcode: 127, output: "" };
    if (args.join(" ") === "connection reload") return { exitcode: 0, output: "" };
    const [object, verb, name = ""] = args;
    const path = `/etc/NetworkManager/system-connections/${name}.nmconnection`;
    if (object !== "connection" || (verb !== "up" && verb !== "delete")) return { exitcode: 2, output: "" };
    const content = files[path];
    if (content === undefined) return { exitcode: 10, output: "" };
    if (verb === "delete") {
      const { [path]: _gone, ...left } = files;
      return takeUp({ ...vm, guest: { ...guest, files: left } });
    }
    // No device has the profile's address.
    if (!fromKeyfile(content).some(({ mac }) => macsOf(vm).includes(mac))) return { exitcode: 4, output: "" };
    return takeUp(vm);
  }
  return null;
}

/** install -m 0600 /dev/stdin PATH: a file that only root may read, written completely or not at all. */
function install(vm: VmDocument, args: readonly string[], input: string): Result {
  const [flag, mode, source, path = "", ...more] = args;
  const known = toolOf(vm) === "netplan" ? NETPLAN : KEYFILE;
  if (flag !== "-m" || source !== "/dev/stdin" || more.length > 0 || !known.test(path))
    return { exitcode: 1, output: "" };
  // NetworkManager does not load what others can read.
  if (mode !== "0600") return { exitcode: 0, output: "" };
  return {
    exitcode: 0,
    output: "",
    guest: { ...vm.guest, files: { ...vm.guest.files, [path]: input } },
  };
}

/** cmp -s PATH /dev/stdin: 0 when they are the same, 1 when not, and 2 when there is no such file. */
function compare(vm: VmDocument, args: readonly string[], input: string): Result {
  const [flag, path = "", other, ...more] = args;
  if (isWindows(vm.config)) return { exitcode: 127, output: "" };
  if (flag !== "-s" || other !== "/dev/stdin" || more.length > 0) return { exitcode: 2, output: "" };
  const content = vm.guest.files?.[path];
  if (content === undefined) return { exitcode: 2, output: "" };
  return { exitcode: content === input ? 0 : 1, output: "" };
}

function takeUp(vm: VmDocument): Result {
  try {
    return { exitcode: 0, output: "", guest: configured(vm, vm.guest) };
  } catch (error) {
    return { exitcode: 78, output: error instanceof Error ? error.message : "" };
  }
}

/** The network manager of the distribution. */
const toolOf = (vm: VmDocument): "netplan" | "network_manager" | "none" => {
  if (isWindows(vm.config)) return "none";
  return /^(rocky|alma|centos|fedora)/.test(vm.guest.system ?? "") ? "network_manager" : "netplan";
};
