// Corrects the interfaces of a VM that was changed manually. The hypervisor reads its firewall files in
// rounds: an interface that gets another bridge, VLAN or MAC is in its network before its rules are in force.
// So it is disconnected as it is, then changed, and connected when a round must be over.

import type { DesiredConfig } from "@kule/proxmox/hypervisor";
import {
  type NetDevice,
  parseNetDevice,
  renderNetDevice,
  sameNetDevice,
} from "@kule/proxmox/property-string";
import type { RegionSettings } from "../../region-settings.ts";
import { type InterfacesPayload, publicNetDevice } from "../public-interface.ts";

/**
 * Configs of all the VM's interfaces, to be written one after the other; null where nothing has to change.
 */
export type LinkChanges = {
  /** Those that are wrong, disconnected, and otherwise as they are. */
  readonly close: DesiredConfig | null;
  /** As they are to be, still disconnected. */
  readonly change: DesiredConfig | null;
  readonly open: DesiredConfig | null;
};

/** Options that a guest's driver depends on; the control plane decides all others. */
const KEPT = ["queues", "mtu"];
const isInterface = (key: string): boolean => /^net\d+$/.test(key);

export function planLinks(
  payload: InterfacesPayload,
  config: Readonly<Record<string, string>>,
  settings: RegionSettings,
): LinkChanges {
  const keys = Object.keys(config).filter(isInterface);
  const close: Record<string, string> = {};
  const change: Record<string, string> = {};
  const open: Record<string, string> = {};
  for (const [key, wanted] of Object.entries(wantedDevices(payload, settings))) {
    const has = config[key] === undefined ? null : parseNetDevice(config[key]);
    const right = asWanted(wanted, has);
    const rightText = renderNetDevice(right);
    open[key] = rightText;
    const isRight = has !== null && sameNetDevice(rightText, textOf(has));
    change[key] = isRight ? rightText : closed(right);
    // One without a MAC cannot be written as it is: the hypervisor would make one up, which is as good.
    if (has !== null) close[key] = isRight || has.mac === null ? change[key] : closed(has);
  }
  const isUnknown = keys.some((key) => !(key in open));
  const differs = (desired: Record<string, string>) =>
    keys.length !== Object.keys(desired).length ||
    Object.entries(desired).some(([key, text]) => !sameNetDevice(text, config[key] ?? ""));
  const isClosed = Object.entries(close).every(([key, text]) => sameNetDevice(text, config[key] ?? ""));
  return {
    close: isClosed && !isUnknown ? null : close,
    change: differs(change) ? change : null,
    open: differs(open) ? open : null,
  };
}

function wantedDevices(payload: InterfacesPayload, settings: RegionSettings): Record<string, NetDevice> {
  const inside = payload.interfaces.map(({ mac, vlan }, index) => {
    const bridge = settings.bridge;
    return [`net${index}`, { model: "virtio", mac, bridge, vlan, firewall: true, extra: new Map() }] as const;
  });
  const outside = Object.entries(publicNetDevice(payload, settings)).flatMap(([key, text]) =>
    text === null ? [] : [[key, parseNetDevice(text)] as const],
  );
  return Object.fromEntries([...inside, ...outside]);
}

/** An adopted VM keeps the model of its card: its guest may have no driver for another. */
function asWanted(wanted: NetDevice, has: NetDevice | null): NetDevice {
  if (has === null) return wanted;
  const extra = new Map([...has.extra].filter(([key]) => KEPT.includes(key)));
  return { ...wanted, model: has.model, extra };
}

const closed = (device: NetDevice): string =>
  renderNetDevice({ ...device, extra: new Map([...device.extra, ["link_down", "1"]]) });

/** `link_down=0` means the same as no `link_down`. */
function textOf(device: NetDevice): string {
  const extra = new Map([...device.extra].filter(([key, value]) => key !== "link_down" || value !== "0"));
  return renderNetDevice({ ...device, extra, mac: device.mac ?? "02:00:00:00:00:00" });
}
