import { classifyGuest } from "@kule/rules/inventory/classify-guest";
import { differencesOf, type WantedInterface } from "@kule/rules/inventory/differences";
import { macAddress, publicPosition } from "@kule/rules/servers/mac";
import { sizeOf } from "./capacity.ts";
import type { DriftNote } from "./drift-notes.ts";
import { filterToFind } from "./filter-digest.ts";
import type { Guest, Sighting } from "./guests.ts";
import type { Holder } from "./holders.ts";

export type Judged =
  /** The server's VM, recognisable as it. */
  | { readonly is: "ours"; readonly holder: Holder; readonly note: DriftNote | null }
  | { readonly is: "drift"; readonly note: DriftNote }
  | { readonly is: "nothing" };

export type RegionFacts = {
  readonly slug: string;
  readonly vmidFirst: number;
  readonly vmidLast: number;
  /** The prefix of its VMs' MACs. */
  readonly number: number;
  readonly privateBridge: string | null;
  readonly poolPrefix: string | null;
  /** Null when its agent did not report it: an older agent, or a region without one. */
  readonly publicNetwork: { readonly bridge: string; readonly vlan: number | null } | null;
};

/** Of a restore of the database; null without one. */
export type RegionRestore = {
  readonly restoredAt: Date;
  readonly isScanned: boolean;
  readonly isEnded: boolean;
  readonly takesIncomplete: boolean;
};

/** Compares a guest that was seen with the records. Pure: it decides, others write. */
export function judgeGuest(
  region: RegionFacts,
  { vmid, lookedAt }: Sighting,
  guest: Guest,
  holder: Holder | null,
): Judged {
  const marker = guest.marker ?? null;
  const classified = classifyGuest({
    vmid,
    region: region.slug,
    isVm: (guest.type ?? "qemu") === "qemu",
    isTemplate: guest.template ?? false,
    marker:
      marker === null
        ? null
        : { serverId: marker.server_id, organisationId: marker.organisation_id, region: marker.region },
    inRange: vmid >= region.vmidFirst && vmid <= region.vmidLast,
    holder: holder === null ? null : { id: holder.server.id, organisationId: holder.server.organisation_id },
  });
  const about = {
    vmid,
    node: guest.node,
    vmName: guest.name ?? null,
    marker: marker?.server_id ?? null,
    lookedAt,
  };
  switch (classified.as) {
    case "nothing":
      return { is: "nothing" };
    case "foreign":
    case "extra":
      return {
        is: "drift",
        note: { ...about, kind: classified.as, server: null, message: classified.why, differences: [] },
      };
    case "changed":
      return {
        is: "drift",
        note: {
          ...about,
          kind: "changed",
          server: holder?.server ?? null,
          message: `VM ${vmid} is not recognisable as the server's any more`,
          differences: [{ field: "marker", wanted: classified.wanted, seen: classified.seen }],
        },
      };
    case "ours": {
      if (holder === null) return { is: "nothing" };
      const differences = differencesOf(wantedVm(holder, region), seenVm(guest));
      if (differences.length === 0) return { is: "ours", holder, note: null };
      const fields = differences.map(({ field }) => field).join(", ");
      return {
        is: "ours",
        holder,
        note: {
          ...about,
          kind: "changed",
          server: holder.server,
          message: `VM ${vmid} is not as wanted: ${fields}`,
          differences,
        },
      };
    }
  }
}

function wantedVm(holder: Holder, region: RegionFacts) {
  const { server, interfaces } = holder;
  const { vcpu, memoryMb, diskGb } = sizeOf(server.package, server.disk_gb);
  const inside = interfaces.map(({ position, mac, vlan, address, shared }) => ({
    position,
    mac,
    vlan,
    bridge: position === 0 ? region.privateBridge : null,
    addresses: address === null ? [] : [address, ...shared],
    disputed: [],
  }));
  return {
    name: server.name,
    vcpu,
    memoryMb,
    diskGb,
    orderedDiskGb: holder.orderedDiskGb,
    tags: ["kule", server.organisation_id, server.id],
    pool: region.poolPrefix === null ? null : `${region.poolPrefix}-${server.organisation_id}`,
    interfaces: [...inside, ...publicInterface(holder, region)],
    mayRun: server.status !== "pending_deletion" && server.status !== "deleting",
    filter: filterToFind(server),
  };
}

/** The interface after the private ones, with all of the server's public addresses; none without them. */
function publicInterface({ vmid, interfaces, publicIps }: Holder, region: RegionFacts): WantedInterface[] {
  const [first] = publicIps;
  if (first === undefined) return [];
  const addresses = publicIps.filter(({ isSettled }) => isSettled).map(({ address }) => address);
  return [
    {
      position: interfaces.length,
      mac: macAddress(region.number, vmid, publicPosition),
      vlan: first.vlan ?? (region.publicNetwork === null ? "unknown" : region.publicNetwork.vlan),
      bridge: region.publicNetwork?.bridge ?? null,
      addresses,
      disputed: publicIps.map(({ address }) => address).filter((address) => !addresses.includes(address)),
    },
  ];
}

function seenVm(guest: Guest) {
  return {
    name: guest.name ?? null,
    vcpu: guest.vcpu ?? 0,
    memoryMb: guest.memory_mb ?? 0,
    diskBytes: guest.disk_bytes ?? null,
    tags: guest.tags ?? [],
    power: guest.power ?? "off",
    interfaces: (guest.interfaces ?? []).map((each) => ({
      position: each.position,
      mac: each.mac,
      vlan: each.vlan ?? null,
      bridge: each.bridge ?? null,
      firewall: each.firewall ?? false,
      linkDown: each.link_down ?? false,
      rate: each.rate ?? null,
      trunks: each.trunks ?? null,
    })),
    pool: guest.pool,
    firewall: guest.firewall === undefined ? null : { ...guest.firewall, filter: filterIn(guest.firewall) },
  } as const;
}

/** Null for an agent that does not report rules yet. */
function filterIn({ policy_in, policy_out, rules, rules_digest }: NonNullable<Guest["firewall"]>) {
  if (
    policy_in === undefined ||
    policy_out === undefined ||
    rules === undefined ||
    rules_digest === undefined
  )
    return null;
  return { policyIn: policy_in, policyOut: policy_out, rules, digest: rules_digest };
}
