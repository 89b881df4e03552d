// One VM for the inventory: two calls, live, and its firewall. No waiting, no retry: what cannot be read now
// is read in the next scan.

import type { ProxmoxClient } from "./client.ts";
import { bootDiskOf } from "./disks.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import { parseMarker, type VmMarker } from "./marker.ts";
import { parseNetDevice, parsePropertyString } from "./property-string.ts";
import { parseTags } from "./tags.ts";
import { readVmFirewall, type SeenFirewall } from "./vm-firewall.ts";
import { normalConfig } from "./vm-observation.ts";

export type VmPath = { readonly node: string; readonly vmid: number };

export type ScannedVm = {
  readonly state: "seen" | "busy";
  readonly power: "on" | "off";
  /** Of the machine's process: another one means that it was switched off and on in between. */
  readonly pid: number | null;
  readonly uptimeSeconds: number | null;
  readonly agentEnabled: boolean;
  readonly name: string | null;
  readonly template: boolean;
  readonly marker: VmMarker | null;
  readonly tags: readonly string[];
  readonly lock: string | null;
  readonly vcpu: number;
  readonly memoryMb: number;
  readonly diskBytes: number | null;
  readonly interfaces: readonly {
    readonly position: number;
    readonly mac: string | null;
    readonly vlan: number | null;
    readonly bridge: string | null;
    readonly firewall: boolean;
    readonly linkDown: boolean;
    readonly rate: string | null;
    readonly trunks: string | null;
    /** That its guest is told at its first boot. */
    readonly addresses: readonly string[];
  }[];
};

type Limits = { readonly deadlineMilliseconds: number; readonly signal?: AbortSignal | undefined };

/** Throws a ProxmoxError when the VM's node does not answer, or no longer has it. */
export async function scanVm(client: ProxmoxClient, path: VmPath, limits: Limits): Promise<ScannedVm> {
  const [raw, status] = await Promise.all([
    client.call("GET /nodes/{node}/qemu/{vmid}/config", path, limits),
    client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path, limits),
  ]);
  const config = normalConfig(raw);
  const lock = status.lock || config.lock || null;
  const isUnfinished = (config.description ?? "").includes("qmclone temporary file");
  const on = status.status === "running";
  return {
    state: lock === "clone" || lock === "create" || isUnfinished ? "busy" : "seen",
    power: on ? "on" : "off",
    pid: on ? readNumber(status.pid) : null,
    uptimeSeconds: on ? readNumber(status.uptime) : null,
    agentEnabled: readBoolean(parsePropertyString(config.agent ?? "", "enabled").get("enabled")),
    name: config.name ?? null,
    template: readBoolean(config.template),
    marker: parseMarker(config.description),
    tags: parseTags(config.tags),
    lock,
    vcpu: numberOr(config.cores, 1) * numberOr(config.sockets, 1),
    memoryMb: numberOr(parsePropertyString(config.memory ?? "", "current").get("current"), 512),
    diskBytes: bootDiskOf(config)?.bytes ?? null,
    interfaces: Object.keys(config)
      .filter((key) => /^net\d+$/.test(key))
      .map((key) => {
        const { mac, vlan, bridge, firewall, extra } = parseNetDevice(config[key] ?? "");
        return {
          ...{ position: Number(key.slice(3)), mac, vlan, bridge, firewall },
          linkDown: extra.get("link_down") === "1",
          rate: extra.get("rate") ?? null,
          trunks: extra.get("trunks") ?? null,
          addresses: configuredAddresses(config[`ipconfig${key.slice(3)}`]),
        };
      })
      .sort((one, other) => one.position - other.position),
  };
}

/** The addresses of an interface's cloud-init settings, such as ip=10.0.0.5/24,gw=10.0.0.1; not dhcp, auto and the like. */
function configuredAddresses(text: string | undefined): string[] {
  const settings = parsePropertyString(text ?? "", "ip");
  return ["ip", "ip6"].flatMap((key) => {
    const [address = "", prefix] = (settings.get(key) ?? "").split("/");
    return prefix === undefined ? [] : [address];
  });
}

/** Its firewall as anti-spoofing needs it. */
export async function scanFirewall(
  client: ProxmoxClient,
  path: VmPath,
  limits: Limits,
): Promise<SeenFirewall> {
  return readVmFirewall(client, path, limits.signal);
}

function numberOr(text: string | undefined, otherwise: number): number {
  return readNumber(text) ?? otherwise;
}
