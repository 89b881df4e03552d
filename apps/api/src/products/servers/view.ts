import type { Schemas } from "@kule/contract/schemas";
import { defaultUserOf, findImage, osFamilyOf } from "@kule/rules/catalog/images";
import { findPackage } from "@kule/rules/catalog/packages";
import { decideConsole, defaultConsole } from "@kule/rules/consoles/console";
import { observationOf } from "@kule/rules/inventory/observation";
import { knownSeenText } from "@kule/rules/inventory/seen-words";
import { publicIpStatus } from "@kule/rules/public-ips/lifecycle";
import type { ActionDecision } from "@kule/rules/servers/action-decision";
import { actionsOf, type ServerAction } from "@kule/rules/servers/lifecycle";
import { ownerOfRow } from "../../platform/server-owner.ts";
import { viewPackage } from "../catalog/index.ts";
import type { StoredGuest } from "../inventory/index.ts";
import { stateOf } from "./server-state.ts";
import type { DriftOfServer, ServerDetails, ServerRow } from "./store.ts";

/** A server as the contract shows it. */
export function viewServer(row: ServerDetails): Schemas["Server"] {
  const image = viewImage(row.image);
  const openJob =
    row.job_kind === null
      ? null
      : { kind: row.job_kind, action: row.job_action, isWaiting: row.job_status === "queued" };
  const actions = Object.fromEntries(
    Object.entries(actionsOf(stateOf(row, openJob, row.ages))).map(([action, decision]) => [
      action,
      viewAction(decision),
    ]),
  ) as { [action in ServerAction]: Schemas["ActionState"] };
  return {
    id: row.id,
    name: row.name,
    hostname: row.name,
    region: row.region,
    status: row.status as Schemas["ServerStatus"],
    status_reason: viewReason(row),
    power_state: row.power_state as Schemas["Server"]["power_state"],
    image,
    package: packageOf(row.package),
    disk_gb: diskOf(row),
    ssh_key_ids: row.ssh_key_ids,
    interfaces: row.interfaces.map((each) => ({ ...each })),
    public_ips: row.public_ips.map((ip) => ({
      id: ip.id,
      address: ip.address,
      version: ip.version,
      status: publicIpStatus({ serverId: ip.server_id, heldBy: ip.held_by, isApplied: ip.is_applied }),
      requires_reboot: ip.requires_reboot,
    })),
    firewall_ids: [...row.firewall_ids],
    labels: row.labels as Record<string, string>,
    protection: { delete: row.protect_delete, rebuild: row.protect_rebuild },
    locked: viewLock(row),
    managed_by: ownerOfRow(row),
    console: { types: [defaultConsole(image.os_family)] },
    deletion: viewDeletion(row),
    actions: { ...actions, console: viewAction(decideConsole(consoleFactsOf(row))) },
    job_id: row.job_id,
    generation: row.generation,
    observed_generation: row.observed_generation,
    observed_at: row.observed_at?.toISOString() ?? null,
    observation: observationOf({
      observedAgeSeconds: row.ages.observed,
      reportAgeSeconds: row.ages.report,
      everySeconds: row.ages.every,
    }),
    guest: viewGuest(row.guest as StoredGuest | null),
    drift: viewDriftOf(row.drift),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** The facts about a server that decide about its console. */
export function consoleFactsOf(
  row: Pick<ServerRow, "id" | "status" | "power_state" | "locked_reason"> & Parameters<typeof ownerOfRow>[0],
) {
  return {
    id: row.id,
    status: row.status,
    powerState: row.power_state as "on" | "off" | "unknown",
    lockedFor: row.locked_reason,
    managedBy: ownerOfRow(row),
  };
}

/** Servers outlive catalogue entries: an image that is no longer offered keeps its slug. */
function viewImage(slug: string): Schemas["Server"]["image"] {
  return {
    slug,
    name: findImage(slug)?.name ?? slug,
    os_family: osFamilyOf(slug),
    default_user: defaultUserOf(slug),
  };
}

/** @throws Error for a slug that no package has: packages are never removed */
export function packageOf(slug: string): Schemas["Package"] {
  const plan = findPackage(slug);
  if (plan === undefined) throw new Error(`no package ${slug}`);
  return viewPackage(plan);
}

/** The size of its disk: a resize to a smaller package leaves it as it was. */
export function diskOf(row: Pick<ServerRow, "disk_gb" | "package">): number {
  return row.disk_gb ?? packageOf(row.package).disk_gb;
}

function viewLock(row: ServerDetails): Schemas["Server"]["locked"] {
  if (row.locked_at === null || row.locked_reason === null) return null;
  return {
    by: row.locked_by as Schemas["Actor"],
    reason: row.locked_reason,
    at: row.locked_at.toISOString(),
  };
}

function viewReason(row: ServerDetails): Schemas["Server"]["status_reason"] {
  if (row.status_code === null) return null;
  return { code: row.status_code, message: row.status_message ?? "", job_id: row.status_job_id };
}

function viewDeletion(row: ServerDetails): Schemas["Server"]["deletion"] {
  const isMarked = row.status === "pending_deletion" || row.status === "deleting";
  if (!isMarked || row.purge_at === null || row.deletion_requested_at === null || row.restores_to === null)
    return null;
  return {
    requested_at: row.deletion_requested_at.toISOString(),
    requested_by: row.deletion_requested_by as Schemas["Actor"],
    purge_at: row.purge_at.toISOString(),
    restores_to: row.restores_to as "running" | "stopped" | "error",
  };
}

function viewAction(decision: ActionDecision): Schemas["ActionState"] {
  return { allowed: decision.allowed, code: decision.code, reason: decision.reason };
}

function viewGuest(guest: StoredGuest | null): Schemas["Server"]["guest"] {
  if (guest === null) return null;
  const { agent_at: _, ...shown } = guest;
  return { ...shown, addresses: [...shown.addresses] };
}

function viewDriftOf(drift: DriftOfServer | null): Schemas["Server"]["drift"] {
  if (drift === null) return null;
  return {
    kind: drift.kind,
    since: new Date(drift.since).toISOString(),
    differences: drift.differences.map((each) => ({ ...each, seen: knownSeenText(each.seen) })),
  };
}
