import { verify } from "unixcrypt";
import type { VmDocument } from "../documents.ts";
import { adminPasswordOf, isWindows } from "../vm/cloud-init.ts";
import { guestInterfaces } from "../vm/guest.ts";

/** A guest system, by what its own disk contains. */
export interface GuestFacts {
  readonly hostname: string;
  /** The user that cloud-init created at the first boot. */
  readonly user: string;
  readonly os: {
    readonly name: string;
    readonly pretty: string;
    readonly id: string;
    readonly version: string;
  };
  readonly memoryMb: number;
  readonly cores: number;
  readonly diskGib: number;
}

const SYSTEMS: readonly (readonly [RegExp, GuestFacts["os"]])[] = [
  [/ubuntu-24/, { name: "Ubuntu", pretty: "Ubuntu 24.04.3 LTS", id: "ubuntu", version: "24.04" }],
  [/ubuntu-22/, { name: "Ubuntu", pretty: "Ubuntu 22.04.5 LTS", id: "ubuntu", version: "22.04" }],
  [
    /debian-12|kule-lb/,
    { name: "Debian GNU/Linux", pretty: "Debian GNU/Linux 12 (bookworm)", id: "debian", version: "12" },
  ],
  [
    /debian-13/,
    { name: "Debian GNU/Linux", pretty: "Debian GNU/Linux 13 (trixie)", id: "debian", version: "13" },
  ],
  [/rocky/, { name: "Rocky Linux", pretty: "Rocky Linux 9.6 (Blue Onyx)", id: "rocky", version: "9.6" }],
  [/./, { name: "Linux", pretty: "Simulated Linux", id: "linux", version: "1" }],
];
const fieldOf = (text: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.+)$`, "m").exec(text)?.[1];

/** The facts that the guest has about itself: only those that its cloud-init drive contained. */
export function guestFacts(vm: VmDocument): GuestFacts {
  const data = vm.drive?.user ?? "";
  const user = fieldOf(data, "user") ?? vm.config.ciuser ?? "root";
  const os = SYSTEMS.find(([pattern]) => pattern.test(vm.guest.system ?? "linux"))?.[1];
  const size = /size=(\d+)G/.exec(vm.config.scsi0 ?? "")?.[1];
  return {
    hostname: fieldOf(data, "hostname") ?? vm.config.name ?? "localhost",
    user,
    os: os ?? { name: "Linux", pretty: "Simulated Linux", id: "linux", version: "1" },
    memoryMb: Number(vm.config.memory ?? "512"),
    cores: Number(vm.config.cores ?? "1") * Number(vm.config.sockets ?? "1"),
    diskGib: Number(size ?? "4"),
  };
}

/**
 * Whether the password opens the account: one that the agent set later replaces the one on the drive. A guest
 * with keys alone accepts no password.
 */
export function passwordFits(vm: VmDocument, user: string, password: string): boolean {
  const set = vm.guest.passwords[user]?.hash;
  if (set !== undefined) return verify(password, set);
  if (user !== guestFacts(vm).user || password === "") return false;
  if (isWindows(vm.config)) return vm.drive !== null && adminPasswordOf(vm.drive) === password;
  const stored = fieldOf(vm.drive?.user ?? "", "password");
  if (stored === undefined) return false;
  return /^\$[56]\$/.test(stored) ? verify(password, stored) : stored === password;
}

/** `ip address` over what the guest's configuration gave it. */
export function ipAddressText(vm: VmDocument): string {
  return guestInterfaces(vm)
    .map((each, index) => {
      const isLoopback = each.name === "lo";
      const isUp = each["ip-addresses"] !== undefined;
      const flags = isLoopback
        ? "LOOPBACK,UP,LOWER_UP"
        : isUp
          ? "BROADCAST,MULTICAST,UP,LOWER_UP"
          : "BROADCAST,MULTICAST";
      const state = isLoopback ? "UNKNOWN" : isUp ? "UP" : "DOWN";
      const mtu = isLoopback ? 65536 : 1500;
      const lines = [
        `${index + 1}: ${each.name}: <${flags}> mtu ${mtu} state ${state} group default qlen 1000`,
        `    link/${isLoopback ? "loopback" : "ether"} ${each["hardware-address"]}`,
      ];
      for (const address of each["ip-addresses"] ?? []) {
        const family = address["ip-address-type"] === "ipv4" ? "inet" : "inet6";
        const text = address["ip-address"];
        const scope = isLoopback ? "host" : text.startsWith("fe80") ? "link" : "global";
        lines.push(
          `    ${family} ${text}/${address.prefix} scope ${scope} ${family === "inet" ? each.name : ""}`.trimEnd(),
        );
      }
      return lines.join("\n");
    })
    .join("\n");
}

/** `ip route`: the default gateway the drive named, and the networks of the addresses. */
export function ipRouteText(vm: VmDocument): string {
  const lines: string[] = [];
  const gateway = /gateway:? '?([0-9.]+)'?/.exec(vm.drive?.network ?? "")?.[1];
  if (gateway !== undefined) lines.push(`default via ${gateway} dev eth0 proto static`);
  for (const each of guestInterfaces(vm)) {
    for (const address of each["ip-addresses"] ?? []) {
      if (each.name === "lo" || address["ip-address-type"] !== "ipv4") continue;
      const bytes = address["ip-address"].split(".").map(Number);
      const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
      const network = value - (value % 2 ** (32 - address.prefix));
      const text = [24, 16, 8, 0].map((shift) => Math.floor(network / 2 ** shift) % 256).join(".");
      lines.push(
        `${text}/${address.prefix} dev ${each.name} proto kernel scope link src ${address["ip-address"]}`,
      );
    }
  }
  return lines.join("\n");
}
