import { classifyGuest } from "@kule/rules/inventory/classify-guest";
import { differencesOf } from "@kule/rules/inventory/differences";
import { diskOf, packageOf } from "../servers/view.ts";
import type { DriftNote } from "./drift-notes.ts";
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
  readonly privateBridge: string | null;
};

/** Holds a guest that was seen against the records. Pure: it decides, others write. */
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

function wantedVm({ server, interfaces }: Holder, { privateBridge }: RegionFacts) {
  const { vcpu, memory_mb } = packageOf(server.package);
  return {
    name: server.name,
    vcpu,
    memoryMb: memory_mb,
    diskGb: diskOf(server),
    tags: ["kule", server.organisation_id, server.id],
    interfaces,
    bridge: privateBridge,
    mayRun: server.status !== "pending_deletion" && server.status !== "deleting",
  };
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
    })),
    firewall: guest.firewall ?? null,
  } as const;
}
