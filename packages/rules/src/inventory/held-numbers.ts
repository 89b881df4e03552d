import { formatIp, parseIp } from "../public-ips/addresses.ts";

export type HeldKind = "vmid" | "vlan" | "address" | "public_address";

/** A number or an address that a VM uses. */
export type UsedNumber = {
  readonly kind: HeldKind;
  readonly value: string;
  /** Of a private address. */
  readonly subnetId: string | null;
  /** Who has it by the records, where that is another. */
  readonly holder: string | null;
};

/** A VM as a scan saw it. */
export type UsingVm = {
  readonly vmid: number;
  /** The server that has its number by the records, and what that server belongs to. */
  readonly holder: { readonly serverId: string; readonly ownerId: string | null } | null;
  /** Kule gives its number out. */
  readonly isInPool: boolean;
  readonly interfaces: readonly {
    readonly vlan: number | null;
    /** It is on the bridge of the private networks. */
    readonly isPrivate: boolean;
    readonly addresses: readonly string[];
  }[];
};

/** Who has a number by the records. Null ids: nobody. */
export type RecordedUse = {
  /** Free, or resting: it would be given out, at once or later. */
  readonly isFree: boolean;
  /** The servers that have it. */
  readonly serverIds: readonly string[];
  /** What its servers share it for. */
  readonly ownerId: string | null;
  /** To name it. */
  readonly holder: string | null;
};

/** What the records have of the numbers that were seen; what is not in them is none of Kule's. */
export type UseRecords = {
  /** By VLAN: its subnet, null for a free one. */
  readonly vlans: ReadonlyMap<number, { readonly subnetId: string | null; readonly cidr: string | null }>;
  /** By {@link addressKey}. An address of a subnet that is not in it is free. */
  readonly addresses: ReadonlyMap<string, RecordedUse>;
  readonly publicAddresses: ReadonlyMap<string, RecordedUse>;
  /** Whether the address is one of the subnet's. */
  readonly isInSubnet: (address: string, cidr: string) => boolean;
};

export const addressKey = (subnetId: string, address: string): string => `${subnetId} ${address}`;

/** The address that a firewall's entry allows, as the records write it; null for a whole block, and for what is none. */
export function plainAddress(text: string): string | null {
  const [address = "", prefix] = text.split("/");
  const parsed = parseIp(address);
  if (parsed === null) return null;
  if (prefix !== undefined && prefix !== (parsed.version === 4 ? "32" : "128")) return null;
  return formatIp(parsed);
}

/** What a VM uses and the records have for free, so that nobody else may get it, and what they have for another. */
export function numbersHeldFor(
  vm: UsingVm,
  records: UseRecords,
): { readonly held: readonly UsedNumber[]; readonly disputed: readonly UsedNumber[] } {
  const found = new Map<string, UsedNumber>();
  const note = (kind: HeldKind, value: string, subnetId: string | null, holder: string | null) =>
    found.set(`${kind} ${subnetId} ${value}`, { kind, value, subnetId, holder });
  if (vm.holder === null && vm.isInPool) note("vmid", String(vm.vmid), null, null);
  for (const { vlan, isPrivate, addresses } of vm.interfaces) {
    const segment = isPrivate && vlan !== null ? records.vlans.get(vlan) : undefined;
    if (segment !== undefined && segment.subnetId === null) note("vlan", String(vlan), null, null);
    for (const address of addresses) {
      const { subnetId = null, cidr = null } = segment ?? {};
      const isOfSubnet = subnetId !== null && cidr !== null && records.isInSubnet(address, cidr);
      const recorded = isOfSubnet
        ? (records.addresses.get(addressKey(subnetId, address)) ?? free)
        : records.publicAddresses.get(address);
      if (recorded === undefined || (!isOfSubnet && isPrivate)) continue;
      if (recorded.isFree || !isOwn(vm, recorded))
        note(
          isOfSubnet ? "address" : "public_address",
          address,
          isOfSubnet ? subnetId : null,
          recorded.isFree ? null : recorded.holder,
        );
    }
  }
  const all = [...found.values()];
  return {
    held: all.filter(({ holder }) => holder === null),
    disputed: all.filter(({ holder }) => holder !== null),
  };
}

const free: RecordedUse = { isFree: true, serverIds: [], ownerId: null, holder: null };

function isOwn({ holder }: UsingVm, { serverIds, ownerId }: RecordedUse): boolean {
  if (holder === null) return false;
  return serverIds.includes(holder.serverId) || (ownerId !== null && ownerId === holder.ownerId);
}
