// The interface in the region's public network: the VM's last one, with the server's public addresses, one of
// each IP version. Computed from the job alone, the same for a new server and an existing one.

import type { PayloadOf } from "@kule/contract/schemas";
import type { DesiredConfig } from "@kule/proxmox/hypervisor";
import { renderIpConfig, renderNetDevice } from "@kule/proxmox/property-string";
import { antiSpoofing, type DesiredFirewall } from "@kule/proxmox/vm-firewall";
import { parseCidr } from "@kule/rules/networks/cidr";
import { linkLocalOf } from "@kule/rules/public-ips/link-local-address";
import { unassignedIpv4 } from "@kule/rules/public-ips/unassigned-address";
import { Failed } from "../errors.ts";
import type { RegionSettings } from "../region-settings.ts";

/** The part of a payload that describes the interfaces. */
export type InterfacesPayload = Pick<PayloadOf<"ServerCreate">, "interfaces" | "public_interface">;

/** The public interface comes after the private ones. */
export const publicIndex = ({ interfaces }: InterfacesPayload): number => interfaces.length;

/** Its device; nothing when there should be none. Throws Failed in a region without a public network. */
export function publicNetDevice(payload: InterfacesPayload, settings: RegionSettings): DesiredConfig {
  const wanted = payload.public_interface ?? null;
  if (wanted === null) return {};
  const { publicNetwork } = settings;
  if (publicNetwork === null)
    throw new Failed({
      code: "no_public_network",
      message: "The region has no public network. An operator has to look at it.",
      internal: `the region file of ${settings.region} names no network.public`,
    });
  const device = renderNetDevice({
    model: "virtio",
    mac: wanted.mac,
    bridge: publicNetwork.bridge,
    vlan: wanted.vlan ?? publicNetwork.vlan,
    firewall: true,
    extra: new Map(),
  });
  return { [`net${publicIndex(payload)}`]: device };
}

/** The cloud-init settings of all interfaces. */
export function ipConfigs(payload: InterfacesPayload): DesiredConfig {
  const wanted = payload.public_interface ?? null;
  const own = payload.interfaces.map((each, index) => {
    const { address, gateway } = each;
    return [`ipconfig${index}`, renderIpConfig({ address, prefix: prefixOf(each), gateway })] as const;
  });
  const outside =
    wanted === null ? [] : [[`ipconfig${publicIndex(payload)}`, publicIpConfig(wanted)] as const];
  return Object.fromEntries([...own, ...outside]);
}

/**
 * cloud-init names and opens only interfaces that it is to configure. One whose addresses the guest brings itself is
 * configured with what the kernel would give it anyway: the address of its link, which leads nowhere.
 */
function publicIpConfig({ mac, addresses }: PublicInterface): string {
  if (addresses.length === 0) return renderIpConfig({ address: linkLocalOf(mac), prefix: 64, gateway: null });
  return renderIpConfig(
    ...addresses.map(({ address, prefix_length, gateway }) => ({ address, prefix: prefix_length, gateway })),
  );
}

/**
 * Proxmox VE can give a guest one default gateway for an interface, and no other routes. A guest whose
 * default route is on another interface is configured as if all of its network were on this link: the router
 * answers there for the rest (docs/adr/0027).
 */
function prefixOf({ prefix_length, gateway, network_cidr }: InterfacesPayload["interfaces"][number]): number {
  if (gateway !== null || network_cidr === undefined) return prefix_length;
  const network = parseCidr(network_cidr);
  return typeof network === "string" ? prefix_length : Math.min(prefix_length, network.prefixLength);
}

/** Every interface may use its own addresses and no others. */
export const addressFilter = (payload: InterfacesPayload): DesiredFirewall =>
  antiSpoofing(ownAddresses(payload));

/** The addresses that the guest may use, by the VM's devices. */
export function ownAddresses(
  payload: InterfacesPayload,
): { readonly index: number; readonly addresses: readonly string[] }[] {
  const outside = payload.public_interface ?? null;
  return [
    ...payload.interfaces.map(({ address, additional_addresses = [] }, index) => ({
      index,
      addresses: [address, ...additional_addresses],
    })),
    ...(outside === null ? [] : [{ index: publicIndex(payload), addresses: withVersion4(outside) }]),
  ];
}

type PublicInterface = NonNullable<InterfacesPayload["public_interface"]>;

function withVersion4({ addresses, additional_addresses = [] }: PublicInterface): string[] {
  const own = [...addresses.map(({ address }) => address), ...additional_addresses];
  return own.some((address) => !address.includes(":")) ? own : [...own, unassignedIpv4];
}
