import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import type { LocalScene } from "./local-scene.ts";
import { type Subject, vmidOf } from "./scene.ts";

/**
 * Tables that hold the present state, by organisation. Steps and audit rows are its history, and are left
 * out.
 */
const ORDERED_BY = {
  network: "created_at",
  subnet: "created_at",
  server: "created_at",
  server_secret: "server_id",
  nic: "position",
  address: "address",
  job: "created_at",
  public_ip: "created_at",
  usage_event: "seq",
  usage_segment: "started_at",
  firewall: "created_at",
  firewall_rule: "position",
  firewall_attachment: "created_at",
} as const;

/** What always differs between two runs: the number of attempts and reports, claims, and random values. */
const LEFT_OUT = new Set([
  "version",
  "epoch",
  "attempt",
  "last_seq",
  "step_count",
  "claim_id",
  "password_hash",
  "smbios1",
  "vmgenid",
  "cipassword",
  "digest",
  "rulesDigest",
  "process",
  "creation",
  "phase",
  "progress",
]);

/**
 * Everything in the database and the region for a subject, as text. Identifiers are replaced by numbers in
 * the order in which they appear and times by a word, so that two subjects with the same course have the same
 * text.
 */
export async function worldStateOf(scene: LocalScene, subject: Subject): Promise<string> {
  const tables = [];
  for (const [table, column] of Object.entries(ORDERED_BY)) {
    const { rows } = await scene.owner.query<{ row: object }>(
      // A server's run and its disk begin at one moment.
      `select to_jsonb(t) as row from ${table} t where organisation_id = $1
        order by to_jsonb(t) -> '${column}', to_jsonb(t) ->> 'kind'`,
      [subject.organisation],
    );
    tables.push([table, rows.map(({ row }) => row)]);
  }
  const vmid = await vmidOf(scene, subject);
  const { rows: vmids } = await scene.owner.query<{ state: string }>(
    "select state from region_vmid where server_id = $1",
    [subject.server],
  );
  const { rows: vlans } = await scene.owner.query<{ vlan: number }>(
    "select vlan from region_vlan v join subnet s on s.id = v.subnet_id where s.organisation_id = $1",
    [subject.organisation],
  );
  const { hypervisor, settings } = scene.lab.world;
  const sighting = await hypervisor.findVm(vmid, { serverId: subject.server, region: settings.region });
  const firewall =
    sighting.state === "present" ? withoutLateRules(await hypervisor.readFirewall(sighting.vm)) : null;
  const volumes = scene.lab.lab.control.volumes(vmid).sort();
  const text = JSON.stringify(
    { tables, numbers: vmids.map(({ state }) => state), sighting, firewall, volumes },
    (key, value) => (LEFT_OUT.has(key) ? undefined : value),
    1,
  );
  return alike(text, subject, vmid, vlans[0]?.vlan ?? 0);
}

/**
 * Proxmox VE adds a new rule whatever was read before. One that comes late is disabled and has no effect, and
 * is removed with the next write. So of the disabled rules only the last one counts, which names the job that
 * wrote last.
 */
function withoutLateRules(firewall: SeenFirewall): SeenFirewall {
  const note = firewall.rules.at(-1);
  return { ...firewall, rules: firewall.rules.filter((rule) => rule.isEnabled || rule === note) };
}

/** The text without what distinguishes two subjects of the same course. */
export function alike(text: string, subject: Pick<Subject, "name">, vmid: number, vlan: number): string {
  const numbers = new Map<string, string>();
  return (
    text
      // The process of a guest is random.
      .replace(/process=[a-z0-9]+:\d+/g, "process=some")
      .replace(
        // A digest of rules, whose names are in it, is a name too.
        /\b(?:(?:org|srv|job|nic|net|sub|req|use|tok|aud|ip|pool|rng|seg|fw|fwr|fwa|flt|gw|lb|lsn|tgt)_[0-9a-z]{20,}|[0-9a-f]{64}\b)/g,
        (id) => {
          const kind = id.includes("_") ? id.slice(0, 3) : "digest";
          const known = numbers.get(id) ?? `${kind}#${numbers.size}`;
          numbers.set(id, known);
          return known;
        },
      )
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::\d\d)?)?/g, "a time")
      // Each subject has a pool of its own, since a public address is in one of them only.
      .replace(/\b100\.\d+\.\d+\.(?=\d)/g, "its public network.")
      .replace(/(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/gi, "a MAC")
      .replace(/\bprocess=\w+:\d+/g, "a process")
      .replaceAll(subject.name, "its name")
      .replaceAll(String(vmid), "its VMID")
      .replaceAll(new RegExp(`tag=${vlan}\\b`, "g"), "its VLAN")
  );
}

/** The lines in which two states differ, at most a few. */
export function differences(one: string, other: string): string[] {
  const [left, right] = [one.split("\n"), other.split("\n")];
  const found: string[] = [];
  for (let line = 0; line < Math.max(left.length, right.length) && found.length < 5; line += 1)
    if (left[line] !== right[line])
      found.push(`${left[line]?.trim() ?? "nothing"} against ${right[line]?.trim() ?? "nothing"}`);
  return found;
}
