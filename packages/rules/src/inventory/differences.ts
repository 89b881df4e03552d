/** One thing that is not as it is wanted, in words and figures. */
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
  /** Ours; a VM may carry others besides. */
  readonly tags: readonly string[];
  readonly interfaces: readonly {
    readonly position: number;
    readonly mac: string;
    readonly vlan: number | null;
    /** The address that its guest may use; null when none is known. */
    readonly address: string | null;
  }[];
  /** The bridge of private networks; null when the region did not say. */
  readonly bridge: string | null;
  readonly mayRun: boolean;
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
  }[];
  /** Null when it was not looked at. */
  readonly firewall: {
    readonly enable: boolean;
    readonly macfilter: boolean;
    readonly ipfilter: boolean;
    readonly ipsets: readonly { readonly name: string; readonly addresses: readonly string[] }[];
  } | null;
};

const gib = 2 ** 30;

/** Everything in which the VM is not as wanted. A larger disk is not one: disks only grow. */
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
  if (seen.diskBytes !== null && seen.diskBytes < wanted.diskGb * gib)
    note("disk_gb", wanted.diskGb, Math.floor(seen.diskBytes / gib));
  const tags = new Set(seen.tags.map((tag) => tag.toLowerCase()));
  const missing = wanted.tags.filter((tag) => !tags.has(tag.toLowerCase()));
  if (missing.length > 0) note("tags", wanted.tags.join(" "), seen.tags.join(" "));
  if (!wanted.mayRun && seen.power === "on") note("power", "off", "on");
  for (const each of wanted.interfaces) compareInterface(each, wanted.bridge, seen, note);
  if (seen.firewall !== null) compareFirewall(wanted, seen.firewall, note);
  return found;
}

type Note = (field: string, wanted: string | number | null, seen: string | number | null) => void;

function compareInterface(
  wanted: WantedVm["interfaces"][number],
  bridge: string | null,
  { interfaces }: SeenVm,
  note: Note,
): void {
  const at = `interface ${wanted.position}`;
  const has = interfaces.find(({ position }) => position === wanted.position);
  if (has === undefined) return void note(at, wanted.mac, null);
  if (has.mac?.toLowerCase() !== wanted.mac.toLowerCase()) note(`${at} mac`, wanted.mac, has.mac);
  if (has.vlan !== wanted.vlan) note(`${at} vlan`, wanted.vlan, has.vlan);
  if (wanted.position === 0 && bridge !== null && has.bridge !== bridge)
    note(`${at} bridge`, bridge, has.bridge);
  if (!has.firewall) note(`${at} firewall`, "on", "off");
}

function compareFirewall({ interfaces }: WantedVm, seen: NonNullable<SeenVm["firewall"]>, note: Note): void {
  for (const option of ["enable", "macfilter", "ipfilter"] as const)
    if (!seen[option]) note(`firewall ${option}`, "on", "off");
  for (const { position, address } of interfaces) {
    if (address === null) continue;
    const allowed = seen.ipsets.find(({ name }) => name === `ipfilter-net${position}`)?.addresses ?? [];
    if (!allowed.includes(address))
      note(`interface ${position} addresses`, address, allowed.join(" ") || null);
  }
}
