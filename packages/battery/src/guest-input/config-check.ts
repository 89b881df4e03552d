import { withJobNote } from "@kule/proxmox/job-note";
import { parseMarker, renderMarker } from "@kule/proxmox/marker";
import { parseTags } from "@kule/proxmox/tags";
import type { Guest } from "./guest-world.ts";

/** Shorter texts occur by chance. */
const shortestSearched = 4;

export type PlainKeys = {
  readonly withKeys: ReadonlySet<string>;
  readonly withPassword: ReadonlySet<string>;
};

const diskKey = /^(ide|sata|scsi|virtio|efidisk|tpmstate)\d+$/;

/** Compares a VM's configuration with that of a VM with ordinary input. */
export function configViolations(guest: Guest, text: string, plain: PlainKeys): string[] {
  const { vm, server, organisation, jobId, keys } = guest;
  const { config } = vm;
  const violations: string[] = [];
  const expected = keys.length > 0 ? plain.withKeys : plain.withPassword;
  for (const key of Object.keys(config)) if (!expected.has(key)) violations.push(`the VM has the key ${key}`);
  for (const key of expected) if (!(key in config)) violations.push(`the VM lacks the key ${key}`);
  if (Object.keys(vm.pending).length > 0)
    violations.push(`changes of ${Object.keys(vm.pending)} are pending`);

  const marker = { serverId: server.id, organisationId: organisation.id, region: "ist1", jobId };
  // The marker, and which job wrote the configuration last.
  if (config.description?.trimEnd() !== withJobNote(renderMarker(marker), { jobId, facts: {} }))
    violations.push(`the description is ${JSON.stringify(config.description)}`);
  if (JSON.stringify(parseMarker(config.description)) !== JSON.stringify(marker))
    violations.push("the mark in the description does not read back");
  const tags = ["kule", organisation.id, server.id].map((tag) => tag.toLowerCase()).sort();
  if (parseTags(config.tags).join() !== tags.join()) violations.push(`the tags are ${config.tags}`);
  if (config.name !== server.name) violations.push(`the VM's name is ${config.name}`);
  for (const [key, value] of Object.entries(config))
    if (diskKey.test(key) && !value.startsWith("ceph-vm:"))
      violations.push(`${key} is on another storage: ${value}`);
  if (!/^virtio=[0-9A-F:]{17},bridge=vmbr1,firewall=1,tag=\d+$/.test(config.net0 ?? ""))
    violations.push(`net0 is ${config.net0}`);
  if (text.length >= shortestSearched) violations.push(...traces(guest, text));
  return violations;
}

/**
 * Where the owner's text occurs other than in the name and the search domain, which accept few characters.
 */
function traces({ vm, server, organisation }: Guest, text: string): string[] {
  return Object.entries(vm.config)
    .filter(([key]) => !(key === "name" && server.name === text))
    .filter(([key]) => !(key === "searchdomain" && organisation.slug === text))
    .filter(([, value]) => value.includes(text) || safelyDecoded(value).includes(text))
    .filter(([key]) => !(key === "nameserver" || key.startsWith("ipconfig")))
    .map(([key]) => `${key} holds the owner's text`);
}

function safelyDecoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
