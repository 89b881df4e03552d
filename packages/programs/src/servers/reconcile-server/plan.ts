import type { PayloadOf } from "@kule/contract/schemas";
import type { Adoptable } from "@kule/proxmox/adoption";
import { configDifference, isEmptyDifference } from "@kule/proxmox/config-difference";
import type { DesiredConfig, Vm } from "@kule/proxmox/hypervisor";
import { renderMarker } from "@kule/proxmox/marker";
import { renderTags } from "@kule/proxmox/tags";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import { Failed } from "../../errors.ts";
import { desiredFirewall } from "../../firewalls/desired-firewall.ts";
import { firewallDiffers } from "../../firewalls/firewall-differs.ts";
import type { RegionSettings } from "../../region-settings.ts";
import { poolOf } from "../create-server/desired-vm.ts";
import { REMOVING_TAG } from "../existing-server.ts";
import { vmMissing } from "../vm-problems.ts";
import { planLinks } from "./links.ts";

export type SeenDrift =
  | { readonly state: "absent" }
  /** The server's by everything but the marker, which was removed manually. */
  | { readonly state: "unmarked"; readonly vm: Adoptable }
  | { readonly state: "present"; readonly vm: Vm; readonly firewall: SeenFirewall };

export type ReconcileStep =
  | { readonly do: "mark"; readonly description: string; readonly tags: readonly string[] }
  | { readonly do: "join-pool"; readonly pool: string }
  | { readonly do: "describe"; readonly config: DesiredConfig }
  | { readonly do: "close-links"; readonly config: DesiredConfig }
  | { readonly do: "change-links"; readonly config: DesiredConfig }
  /** Where links are opened afterwards, that step waits. */
  | { readonly do: "firewall"; readonly waits: boolean }
  | { readonly do: "open-links"; readonly config: DesiredConfig };

type Payload = PayloadOf<"ServerReconcile">;

/** The differences from the records that can be written back. Sizes and power are left as they are. */
export function planReconcile(
  jobId: string,
  payload: Payload,
  seen: SeenDrift,
  settings: RegionSettings,
): readonly ReconcileStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  if (seen.state === "unmarked") return [markOf(jobId, payload, seen.vm, settings)];
  const { vm, firewall } = seen;
  const links = planLinks(payload, vm.config, settings);
  const marks = marksOf(payload, vm);
  const pool = poolOf(settings, payload.pool);
  const steps: ReconcileStep[] = [];
  // The wrong one may be another organisation's network: that is disconnected first.
  if (links.close !== null) steps.push({ do: "close-links", config: links.close });
  if (!isEmptyDifference(configDifference(marks, vm.config, false)))
    steps.push({ do: "describe", config: marks });
  if (links.change !== null) steps.push({ do: "change-links", config: links.change });
  if (firewallDiffers(payload, desiredFirewall(payload), firewall))
    steps.push({ do: "firewall", waits: links.open === null });
  if (links.open !== null) steps.push({ do: "open-links", config: links.open });
  if (vm.pool !== pool) steps.push({ do: "join-pool", pool });
  if (steps.length === 0) requireLive(vm);
  return steps;
}

function markOf(
  jobId: string,
  { server, tags }: Payload,
  vm: Adoptable,
  settings: RegionSettings,
): ReconcileStep {
  const marker = renderMarker({
    serverId: server.id,
    organisationId: server.organisation_id,
    region: settings.region,
    jobId,
  });
  const description = [marker, vm.description.trim()].filter((line) => line !== "").join("\n");
  return {
    do: "mark",
    description,
    tags: [...new Set([...vm.tags, ...tags.map((tag) => tag.toLowerCase())])],
  };
}

/** Includes the tags that others have set, except the one of a cancelled removal. */
function marksOf({ server, tags }: Payload, vm: Vm): DesiredConfig {
  const others = vm.tags.filter((tag) => tag !== REMOVING_TAG);
  return { name: server.name, tags: renderTags([...tags, ...others]), onboot: "1", protection: "1" };
}

/** A guest whose hardware cannot be changed while it runs continues with the former interface. */
function requireLive({ vmid, pendingKeys }: Vm): void {
  const waiting = pendingKeys.filter((key) => /^net\d+$/.test(key));
  if (waiting.length === 0) return;
  throw new Failed({
    code: "restart_needed",
    message: "The server's interfaces are corrected with its next start. Switch it off and on.",
    internal: `VM ${vmid} has pending changes of ${waiting.join(", ")}: its hotplug setting has no network`,
  });
}
