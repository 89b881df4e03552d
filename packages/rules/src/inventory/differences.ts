import { unassignedIpv4 } from "../public-ips/unassigned-address.ts";
import { isDiskDrift } from "../servers/disk.ts";

/** One difference from the wanted state, in words and figures. */
export type Difference = {
  readonly field: string;
  readonly wanted: string | null;
  readonly seen: string | null;
};

/** A server's VM as the records want it. */
export type WantedVm = {
  readonly name: string;
  readonly vcpu: number;
  readonly memoryMb: number;
  readonly diskGb: number;
  /** The largest that was ever requested. */
  readonly orderedDiskGb: number;
  /** Ours; a VM may carry others besides. */
  readonly tags: readonly string[];
  /** All there are to be: one that is not among them is a difference itself. */
  readonly interfaces: readonly WantedInterface[];
  /** Null when the region did not report the prefix of its pools. */
  readonly pool: string | null;
  readonly mayRun: boolean;
  /** Its wanted filter; null while it is changing, or not known. */
  readonly filter: {
    readonly rules: number;
    readonly digest: string;
  } | null;
};

export type WantedInterface = {
  readonly position: number;
  readonly mac: string;
  /** Null: untagged. */
  readonly vlan: number | null | "unknown";
  /** Null when the region did not report it. */
  readonly bridge: string | null;
  /** The addresses that its guest may use; none when that is not known. */
  readonly addresses: readonly string[];
  /** Addresses that it may have or not: a job that was to attach or detach them ended in between. */
  readonly disputed: readonly string[];
};

/** The same VM as the region shows it. */
export type SeenVm = {
  readonly name: string | null;
  readonly vcpu: number;
  readonly memoryMb: number;
  readonly diskBytes: number | null;
  readonly tags: readonly string[];
  readonly power: "on" | "off";
  readonly interfaces: readonly {
    readonly position: number;
    readonly mac: string | null;
    readonly vlan: number | null;
    readonly bridge: string | null;
    readonly firewall: boolean;
    readonly linkDown: boolean;
    /** As the hypervisor has it; null: no limit. */
    readonly rate: string | null;
    /** VLANs besides its own; null: none. */
    readonly trunks: string | null;
  }[];
  /** Undefined when its agent does not report pools yet. */
  readonly pool: string | null | undefined;
  /** Null when it was not read. */
  readonly firewall: {
    readonly enable: boolean;
    readonly macfilter: boolean;
    readonly ipfilter: boolean;
    readonly ipsets: readonly { readonly name: string; readonly addresses: readonly string[] }[];
    /** Null when its agent does not report rules yet. */
    readonly filter: {
      readonly policyIn: string;
      readonly policyOut: string;
      readonly rules: number;
      readonly digest: string;
    } | null;
  } | null;
};

const gib = 2 ** 30;

/**
 * All differences of the VM from its wanted state. A disk that has grown is not one, unless its size was
 * never ordered.
 */
export function differencesOf(wanted: WantedVm, seen: SeenVm): Difference[] {
  const found: Difference[] = [];
  const note = (field: string, want: string | number | null, has: string | number | null) =>
    found.push({
      field,
      wanted: want === null ? null : String(want),
      seen: has === null ? null : String(has),
    });
  if (seen.name !== wanted.name) note("name", wanted.name, seen.name);
  if (seen.vcpu !== wanted.vcpu) note("vcpu", wanted.vcpu, seen.vcpu);
  if (seen.memoryMb !== wanted.memoryMb) note("memory_mb", wanted.memoryMb, seen.memoryMb);
  if (seen.diskBytes !== null && isDiskDrift(wanted.diskGb, wanted.orderedDiskGb, seen.diskBytes))
    note("disk_gb", wanted.diskGb, Math.floor(seen.diskBytes / gib));
  const tags = new Set(seen.tags.map((tag) => tag.toLowerCase()));
  const missing = wanted.tags.filter((tag) => !tags.has(tag.toLowerCase()));
  if (missing.length > 0) note("tags", wanted.tags.join(" "), seen.tags.join(" "));
  if (wanted.pool !== null && seen.pool !== undefined && seen.pool !== wanted.pool)
    note("pool", wanted.pool, seen.pool);
  if (!wanted.mayRun && seen.power === "on") note("power", "off", "on");
  for (const each of wanted.interfaces) compareInterface(each, seen, note);
  for (const { position, mac } of seen.interfaces)
    if (!wanted.interfaces.some((each) => each.position === position))
      note(`interface ${position}`, null, mac ?? "without a MAC");
  if (seen.firewall !== null) compareFirewall(wanted, seen.firewall, note);
  return found;
}

type Note = (field: string, wanted: string | number | null, seen: string | number | null) => void;

function compareInterface(wanted: WantedInterface, { interfaces }: SeenVm, note: Note): void {
  const at = `interface ${wanted.position}`;
  const has = interfaces.find(({ position }) => position === wanted.position);
  if (has === undefined) {
    if (!isDisputed(wanted)) note(at, wanted.mac, null);
    return;
  }
  if (has.mac?.toLowerCase() !== wanted.mac.toLowerCase()) note(`${at} mac`, wanted.mac, has.mac);
  if (wanted.vlan !== "unknown" && has.vlan !== wanted.vlan) note(`${at} vlan`, wanted.vlan, has.vlan);
  if (wanted.bridge !== null && has.bridge !== wanted.bridge) note(`${at} bridge`, wanted.bridge, has.bridge);
  if (!has.firewall) note(`${at} firewall`, "on", "off");
  if (has.linkDown) note(`${at} link`, "up", "down");
  if (has.rate !== null) note(`${at} rate`, null, has.rate);
  // With VLANs besides its own the guest is in other networks, too.
  if (has.trunks !== null) note(`${at} trunks`, null, has.trunks);
}

/** All of its addresses may have been attached or detached. */
const isDisputed = ({ addresses, disputed }: WantedInterface): boolean =>
  addresses.length === 0 && disputed.length > 0;

function compareFirewall(wanted: WantedVm, seen: NonNullable<SeenVm["firewall"]>, note: Note): void {
  const { interfaces } = wanted;
  for (const option of ["enable", "macfilter", "ipfilter"] as const)
    if (!seen[option]) note(`firewall ${option}`, "on", "off");
  for (const { position, addresses, disputed } of interfaces) {
    if (addresses.length + disputed.length === 0) continue;
    const allowed = seen.ipsets.find(({ name }) => name === `ipfilter-net${position}`)?.addresses ?? [];
    const isMissing = addresses.some((address) => !allowed.includes(address));
    // With an address more than its own the guest could impersonate that address' owner.
    const isLoose = allowed.some(
      (address) => !addresses.includes(address) && !disputed.includes(address) && address !== unassignedIpv4,
    );
    if (isMissing || isLoose)
      note(`interface ${position} addresses`, addresses.join(" ") || null, allowed.join(" ") || null);
  }
  // The rules of a disabled firewall, which is reported above, do not matter.
  if (seen.enable && wanted.filter !== null && seen.filter !== null)
    compareFilter(wanted.filter, seen.filter, note);
}

function compareFilter(
  wanted: NonNullable<WantedVm["filter"]>,
  seen: NonNullable<NonNullable<SeenVm["firewall"]>["filter"]>,
  note: Note,
): void {
  if (seen.policyIn !== "DROP") note("firewall policy_in", "DROP", seen.policyIn);
  if (seen.policyOut !== "ACCEPT") note("firewall policy_out", "ACCEPT", seen.policyOut);
  if (seen.digest === wanted.digest) return;
  const others = seen.rules === wanted.rules ? ", others" : "";
  note("firewall rules", counted(wanted.rules), `${counted(seen.rules)}${others}`);
}

const counted = (rules: number): string => (rules === 1 ? "1 rule" : `${rules} rules`);
