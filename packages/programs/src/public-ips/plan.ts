import type { PayloadOf } from "@kule/contract/schemas";
import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import type { GuestInterface } from "@kule/proxmox/guest-agent";
import type { DesiredConfig, Vm } from "@kule/proxmox/hypervisor";
import { parseNetDevice, samePropertyString } from "@kule/proxmox/property-string";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import { desiredFirewall } from "../firewalls/desired-firewall.ts";
import { firewallDiffers } from "../firewalls/firewall-differs.ts";
import type { RegionSettings } from "../region-settings.ts";
import { ipConfigs, publicIndex, publicNetDevice } from "../servers/public-interface.ts";
import { vmMissing } from "../servers/vm-problems.ts";

export type PublicIpPayload = PayloadOf<"PublicIpAttach"> | PayloadOf<"PublicIpDetach">;

export type SeenNetwork =
  | { readonly state: "absent" }
  | {
      readonly state: "present";
      readonly vm: Vm;
      readonly firewall: SeenFirewall;
      /** The running guest's interfaces; null when it is off or no agent answers. */
      readonly guest: readonly GuestInterface[] | null;
      /**
       * It was configured by its agent, and has something else on its disk: routes of an earlier release, or
       * manual ones.
       */
      readonly wasConfiguredOtherwise: boolean;
      /** The cloud-init keys that a running guest's drive does not have yet. */
      readonly staleKeys: readonly string[];
    };

export type PublicIpStep =
  | { readonly do: "firewall" }
  | { readonly do: "clear-guest" }
  | { readonly do: "configure"; readonly config: DesiredConfig }
  | { readonly do: "open-link"; readonly config: DesiredConfig }
  | { readonly do: "tell-guest"; readonly otherwise: DesiredConfig }
  | { readonly do: "write-drive" };

/** The steps from the observed VM to the server's wanted interfaces. */
export function planPublicInterface(
  payload: PublicIpPayload,
  seen: SeenNetwork,
  settings: RegionSettings,
): readonly PublicIpStep[] {
  if (seen.state === "absent") {
    // A VM that was never created, or is gone, has no address to remove.
    if ((payload.public_interface ?? null) === null) return [];
    throw vmMissing(payload.vmid);
  }
  return (payload.public_interface ?? null) === null
    ? withoutInterface(payload, seen)
    : withInterface(payload, seen, settings);
}

type Present = Extract<SeenNetwork, { state: "present" }>;

/**
 * The filter first. But the hypervisor reads its firewall files in rounds, and has no rules for an interface
 * that was added since the last one: so a new interface is disconnected until the next round must be over. So
 * it can at no moment use an address that is not its own.
 */
function withInterface(payload: PublicIpPayload, seen: Present, settings: RegionSettings): PublicIpStep[] {
  const { vm, guest } = seen;
  const steps: PublicIpStep[] = [];
  if (firewallDiffers(payload, desiredFirewall(payload), seen.firewall)) steps.push({ do: "firewall" });
  const device = publicNetDevice(payload, settings);
  const index = `net${publicIndex(payload)}`;
  const isOpen = samePropertyString(vm.config[index] ?? "", device[index] ?? "");
  const opened = { ...privateDevices(payload, vm), ...device };
  const devices = isOpen ? opened : { ...opened, [index]: `${device[index]},link_down=1` };
  const viaDrive = { ...devices, ...ipConfigs(payload) };
  const key = `ipconfig${publicIndex(payload)}`;
  const onDrive = vm.config[key];
  const isOnDrive = onDrive !== undefined && samePropertyString(onDrive, ipConfigs(payload)[key] ?? "");
  const canGetFilterJob = guest !== null && payload.guest_network !== "none" && onDrive === undefined;
  const config = isOnDrive || !(canGetFilterJob || guestHasAddresses(payload, guest)) ? viaDrive : devices;
  if (differs(config, vm)) steps.push({ do: "configure", config });
  if (!isOpen) steps.push({ do: "open-link", config: { ...config, ...device } });
  if (config === devices && (seen.wasConfiguredOtherwise || !guestHasAddresses(payload, guest)))
    steps.push({ do: "tell-guest", otherwise: { ...viaDrive, ...device } });
  if (isStale(seen)) steps.push({ do: "write-drive" });
  return steps;
}

/** The device goes before its filter: what is left of it can never be unfiltered. */
function withoutInterface(payload: PublicIpPayload, seen: Present): PublicIpStep[] {
  const { vm } = seen;
  const steps: PublicIpStep[] = [];
  const index = publicIndex(payload);
  const device = vm.config[`net${index}`];
  const mac = device === undefined ? null : (parseNetDevice(device).mac?.toLowerCase() ?? null);
  const told = seen.guest?.find((each) => each.mac === mac);
  if (told !== undefined && told.addresses.length > 0 && payload.guest_network !== "none")
    steps.push({ do: "clear-guest" });
  // With the address of the drive the private interface lost its gateway; it is left alone when it never did.
  const hadDrive = vm.config[`ipconfig${index}`] !== undefined;
  const config = { ...privateDevices(payload, vm), ...(hadDrive ? ipConfigs(payload) : {}) };
  if (differs(config, vm)) steps.push({ do: "configure", config });
  if (firewallDiffers(payload, desiredFirewall(payload), seen.firewall)) steps.push({ do: "firewall" });
  if (isStale(seen)) steps.push({ do: "write-drive" });
  return steps;
}

/**
 * The private interfaces as they are: this job does not change them, but a family of keys is written as a
 * whole.
 */
function privateDevices({ interfaces }: PublicIpPayload, vm: Vm): DesiredConfig {
  return Object.fromEntries(
    interfaces.flatMap((_, index) => {
      const device = vm.config[`net${index}`];
      return device === undefined ? [] : [[`net${index}`, device]];
    }),
  );
}

const differs = (config: DesiredConfig, vm: Vm): boolean =>
  !isEmptyDifference(configDifference(config, vm.config, false));

/** A guest that reboots by itself reads the drive as it is; one that is started gets a new one anyway. */
const isStale = ({ vm, staleKeys }: Present): boolean =>
  vm.power !== "stopped" && staleKeys.some((key) => /^ipconfig\d+$/.test(key));

/** True when the running guest shows exactly the wanted addresses on the public interface. */
export function guestHasAddresses(
  payload: PublicIpPayload,
  guest: readonly GuestInterface[] | null,
): boolean {
  const wanted = payload.public_interface ?? null;
  if (wanted === null) return false;
  const own = guest?.find((each) => each.mac === wanted.mac.toLowerCase());
  if (own === undefined) return false;
  const shown = new Set(own.addresses);
  return (
    shown.size === wanted.addresses.length &&
    wanted.addresses.every(({ address, prefix_length }) =>
      shown.has(`${address}/${prefix_length}`.toLowerCase()),
    )
  );
}
