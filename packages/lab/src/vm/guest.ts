import { failure } from "../api-error.ts";
import type { VmDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import type { Region } from "../region.ts";
import { configOptions } from "../schema/api-schema.ts";
import { parsePropertyString } from "../schema/check-property.ts";
import { isWindows } from "./cloud-init.ts";
import { parseNet } from "./networks.ts";

const AGENT_FORMAT = configOptions.agent?.format ?? "";

export function agentEnabled(vm: VmDocument): boolean {
  const value = vm.config.agent;
  return value !== undefined && parsePropertyString(AGENT_FORMAT, value).enabled === "1";
}

/** True once the guest has booted far enough for its agent to answer. */
export function agentAnswers(region: Region, vm: VmDocument): boolean {
  if (!agentEnabled(vm) || vm.process === null || vm.process.paused) return false;
  if (region.taskFaults.agentless.has(vm.vmid)) return false;
  const boot = isWindows(vm.config) ? seconds.agentBootWindows : seconds.agentBootLinux;
  return region.runtime.nowMs() - vm.process.guestBootAt >= boot * region.runtime.timeScale * 1000;
}

/** Throws what a call to the agent answers when there is nobody to ask. */
export function requireAgent(region: Region, vm: VmDocument): void {
  if (!agentEnabled(vm)) throw failure("No QEMU guest agent configured");
  if (vm.process === null) throw failure(`VM ${vm.vmid} is not running`);
  if (!agentAnswers(region, vm)) throw failure("QEMU guest agent is not running");
}

interface GuestAddress {
  readonly "ip-address": string;
  readonly "ip-address-type": "ipv4" | "ipv6";
  readonly prefix: number;
}
export interface GuestInterface {
  readonly name: string;
  readonly "hardware-address": string;
  readonly "ip-addresses"?: readonly GuestAddress[];
}

/** Link-local address from a MAC, as SLAAC makes it. */
function linkLocal(mac: string): string {
  const bytes = mac.split(":").map((part) => Number.parseInt(part, 16));
  const eui = [(bytes[0] ?? 0) ^ 2, bytes[1], bytes[2], 0xff, 0xfe, bytes[3], bytes[4], bytes[5]];
  const groups = [0, 2, 4, 6].map((at) => (((eui[at] ?? 0) << 8) | (eui[at + 1] ?? 0)).toString(16));
  return `fe80::${groups.join(":")}`;
}

/** What the guest sees of its interfaces: the addresses its cloud-init drive gave it. */
export function guestInterfaces(vm: VmDocument): GuestInterface[] {
  const loopback: GuestInterface = {
    name: "lo",
    "hardware-address": "00:00:00:00:00:00",
    "ip-addresses": [
      { "ip-address": "127.0.0.1", "ip-address-type": "ipv4", prefix: 8 },
      { "ip-address": "::1", "ip-address-type": "ipv6", prefix: 128 },
    ],
  };
  const network = vm.drive?.network ?? "";
  const result = [loopback];
  for (const key of Object.keys(vm.config).sort()) {
    if (!/^net\d+$/.test(key)) continue;
    const mac = (parseNet(vm.config[key] ?? "").macaddr ?? "").toLowerCase();
    const text = vm.config[`ipconfig${key.slice(3)}`];
    const ip = text === undefined ? undefined : parsePropertyString("pve-qm-ipconfig", text);
    const v4 = ip?.ip;
    const addresses: GuestAddress[] = [];
    // An address that is in the config but not on the drive yet is unknown to the guest.
    if (v4 !== undefined && v4 !== "dhcp" && network.includes(v4.split("/")[0] ?? "?")) {
      const [address = "", prefix = "32"] = v4.split("/");
      addresses.push({ "ip-address": address, "ip-address-type": "ipv4", prefix: Number(prefix) });
    }
    addresses.push({ "ip-address": linkLocal(mac), "ip-address-type": "ipv6", prefix: 64 });
    const base = { name: `eth${key.slice(3)}`, "hardware-address": mac };
    // An interface that cloud-init did not configure is down and has no addresses at all.
    result.push(ip === undefined ? base : { ...base, "ip-addresses": addresses });
  }
  return result;
}
