// A VM that was created outside of Kule and is to become a server's: observed without a marker to identify
// it, and marked only after a second check that it has no other marker.

import { firstWorking } from "./clone-task.ts";
import { grantCommands } from "./driver-calls/grants.ts";
import { ProxmoxLocked, ProxmoxNotFound, ProxmoxNotOurs } from "./errors.ts";
import type { Owner } from "./hypervisor.ts";
import { readBoolean } from "./lenient.ts";
import { parseMarker } from "./marker.ts";
import { parseNetDevice } from "./property-string.ts";
import { isFreeVmid } from "./region-guests.ts";
import { parseTags } from "./tags.ts";
import { isOwner, normalConfig, type Region, rowOf } from "./vm-observation.ts";

export type Adoptable = {
  readonly node: string;
  readonly name: string | null;
  /** Lower case, sorted. */
  readonly tags: readonly string[];
  readonly description: string;
  /** It carries the owner's marker already. */
  readonly isMarked: boolean;
  readonly running: boolean;
  readonly pool: string | null;
  /** By the interfaces' positions; null where one has none. */
  readonly macs: readonly (string | null)[];
  readonly digest: string;
};

export type AdoptionSighting =
  | { readonly state: "absent" }
  | { readonly state: "busy"; readonly why: string }
  /** Another server's, a template, a container, or hidden. It is not to be touched. */
  | { readonly state: "refused"; readonly why: string }
  | { readonly state: "adoptable"; readonly vm: Adoptable };

/** A VM that is not ours yet is in no pool of ours, and a role on the pools does not reach it. */
const adoptionGrant = (vmid: number, tokenId: string): string =>
  grantCommands({ path: `/vms/${vmid}`, role: "CloudAgent", propagate: true }, tokenId);

const CALL_MILLISECONDS = 10_000;

export async function findAdoptionCandidate(
  { client }: Pick<Region, "client">,
  vmid: number,
  owner: Owner,
  signal?: AbortSignal,
): Promise<AdoptionSighting> {
  const row = rowOf(await client.call("GET /cluster/resources", { type: "vm" }, { signal }), vmid);
  if (row === null)
    return (await isFreeVmid(client, vmid, { deadlineMilliseconds: CALL_MILLISECONDS, signal }))
      ? { state: "absent" }
      : {
          state: "refused",
          why: `VMID ${vmid} is taken by a guest that this token may not see; a VM that is to be adopted needs a grant of its own: ${adoptionGrant(vmid, client.tokenId)}`,
        };
  if (row.type !== "qemu") return { state: "refused", why: `VMID ${vmid} is a container` };
  const path = { node: row.node, vmid };
  try {
    const [raw, status, tasks] = await Promise.all([
      client.call("GET /nodes/{node}/qemu/{vmid}/config", path, { signal }),
      client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path, { signal }),
      client.call("GET /nodes/{node}/tasks", { node: row.node, source: "active", vmid }, { signal }),
    ]);
    const config = normalConfig(raw);
    const lock = row.lock ?? config.lock ?? null;
    const description = config.description ?? "";
    const marker = parseMarker(description);
    if (readBoolean(config.template)) return { state: "refused", why: `VMID ${vmid} is a template` };
    // Two markers read as none: the second was written without a check.
    const hasSomeMarker = /^kule:v1 /m.test(description);
    if (hasSomeMarker && (marker === null || !isOwner(marker, owner)))
      return {
        state: "refused",
        why: `VM ${vmid} is marked for ${marker === null ? "more than one server" : marker.serverId}`,
      };
    if (lock !== null) return { state: "busy", why: `VM ${vmid} is locked (${lock})` };
    const task = firstWorking(tasks);
    if (task !== null) return { state: "busy", why: `task ${task.upid} works on VM ${vmid}` };
    return {
      state: "adoptable",
      vm: {
        node: row.node,
        name: config.name ?? null,
        tags: parseTags(config.tags),
        description,
        isMarked: marker !== null,
        running: status.status === "running",
        pool: row.pool,
        macs: macsOf(config),
        digest: config.digest ?? "",
      },
    };
  } catch (error) {
    // It has just moved to another node, or gone.
    if (error instanceof ProxmoxNotFound) return { state: "busy", why: `VM ${vmid} is moving` };
    throw error;
  }
}

/** Throws ProxmoxNotOurs unless the VM may be marked for the owner; ProxmoxLocked when it may be in a moment. */
export function requireAdoptable(sighting: AdoptionSighting, vmid: number): Adoptable {
  if (sighting.state === "adoptable") return sighting.vm;
  const call = `look before marking VM ${vmid}`;
  if (sighting.state === "busy")
    throw new ProxmoxLocked({ call, status: null, text: sighting.why, outcome: "retryable", fix: null });
  throw new ProxmoxNotOurs({
    call,
    status: null,
    text: sighting.state === "absent" ? `no node has VM ${vmid}` : sighting.why,
    outcome: "permanent",
    fix: null,
  });
}

function macsOf(config: Readonly<Record<string, string>>): (string | null)[] {
  const positions = Object.keys(config).flatMap((key) => /^net(\d+)$/.exec(key)?.[1] ?? []);
  const count = positions.reduce((most, position) => Math.max(most, Number(position) + 1), 0);
  return Array.from({ length: count }, (_, position) => {
    const text = config[`net${position}`];
    return text === undefined ? null : parseNetDevice(text).mac;
  });
}
