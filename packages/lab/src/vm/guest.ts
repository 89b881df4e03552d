import { failure } from "../api-error.ts";
import type { GuestAddress, VmDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import type { Region } from "../region.ts";
import { configOptions } from "../schema/api-schema.ts";
import { parsePropertyString } from "../schema/check-property.ts";
import { isWindows } from "./cloud-init.ts";
import { macsOf } from "./guest-network.ts";

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

/** Throws the answer to a call of the agent when no agent runs. */
export function requireAgent(region: Region, vm: VmDocument): void {
  if (!agentEnabled(vm)) throw failure("No QEMU guest agent configured");
  if (vm.process === null) throw failure(`VM ${vm.vmid} is not running`);
  if (!agentAnswers(region, vm)) throw failure("QEMU guest agent is not running");
}

export interface GuestInterface {
  readonly name: string;
  readonly "hardware-address": string;
  readonly "ip-addresses"?: readonly GuestAddress[];
}

/** Link-local address from a MAC, as by SLAAC. */
export function linkLocal(mac: string): string {
  const bytes = mac.split(":").map((part) => Number.parseInt(part, 16));
  const eui = [(bytes[0] ?? 0) ^ 2, bytes[1], bytes[2], 0xff, 0xfe, bytes[3], bytes[4], bytes[5]];
  const groups = [0, 2, 4, 6].map((at) => (((eui[at] ?? 0) << 8) | (eui[at + 1] ?? 0)).toString(16));
  return `fe80::${groups.join(":")}`;
}

/** The interfaces that the guest has, with the addresses that it has configured. */
export function guestInterfaces(vm: VmDocument): GuestInterface[] {
  const loopback: GuestInterface = {
    name: "lo",
    "hardware-address": "00:00:00:00:00:00",
    "ip-addresses": [
      { "ip-address": "127.0.0.1", "ip-address-type": "ipv4", prefix: 8 },
      { "ip-address": "::1", "ip-address-type": "ipv6", prefix: 128 },
    ],
  };
  const interfaces = macsOf(vm).map((mac, index): GuestInterface => {
    const base = { name: `eth${index}`, "hardware-address": mac };
    const own = vm.guest.addresses?.[mac];
    // An interface that nothing configured is down and has no addresses at all.
    if (own === undefined) return base;
    const local: GuestAddress = { "ip-address": linkLocal(mac), "ip-address-type": "ipv6", prefix: 64 };
    const others = own.filter((each) => each["ip-address"] !== local["ip-address"]);
    return { ...base, "ip-addresses": [...others, local] };
  });
  return [loopback, ...interfaces];
}
