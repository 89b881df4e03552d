// Requests for an existing server: apps/api's power-server.ts, resize-server.ts, rebuild-server.ts,
// reset-server-password.ts, update-server.ts and import-server.ts.

import type { PackageSlug } from "@kule/rules/catalog/packages";
import { type PowerAction, statusDuring } from "@kule/rules/servers/power";
import { decideResize, diskAfterResize } from "@kule/rules/servers/resize";
import type { ControlPlaneModel } from "./control-plane.ts";
import { preemptQueuedJob } from "./model-endings.ts";
import { type Accepted, type Refused, refused, refusedByRules, type ServerAnswer } from "./model-refusals.ts";
import { diskOf, type JobParameters, type ModelServer, planOf } from "./model-state.ts";

/** A request for a server. */
export type ServerRequest =
  | {
      readonly to: "power";
      readonly action: PowerAction;
      readonly timeoutSeconds: number;
      readonly force: boolean;
    }
  | {
      readonly to: "resize";
      readonly package: PackageSlug;
      readonly allowRestart: boolean;
      readonly growDisk: boolean;
    }
  | { readonly to: "rebuild"; readonly image: string }
  | { readonly to: "password"; readonly when: "now" | "next_boot" }
  | { readonly to: "rename"; readonly name: string }
  | { readonly to: "protect"; readonly delete: boolean; readonly rebuild: boolean };

/** A change that no job is needed for. */
type Changed = { readonly status: 200; readonly body: { readonly server: ModelServer; readonly job: null } };

export function askOfServer(
  model: ControlPlaneModel,
  serverId: string,
  wish: ServerRequest,
): ServerAnswer | Changed {
  const server = model.state.servers.get(serverId);
  if (server === undefined || server.status === "deleted") return refused(404, "not_found");
  switch (wish.to) {
    case "power":
      return power(model, server, wish);
    case "resize":
      return resize(model, server, wish);
    case "rebuild":
      return rebuild(model, server, wish.image);
    case "password":
      return resetPassword(model, server, wish.when);
    case "rename":
      return rename(model, server, wish.name);
    case "protect":
      return protect(model, server, wish);
  }
}

function power(
  model: ControlPlaneModel,
  server: ModelServer,
  { action, timeoutSeconds, force }: Extract<ServerRequest, { to: "power" }>,
): ServerAnswer {
  const { state } = model;
  const asks = action === "shutdown" || action === "reboot";
  if (force && !asks) return refused(422, "validation_failed");
  const no = refusedByRules(state, server, action);
  if (no !== null) return no;
  const { running, queued } = state.openJobs(server.id);
  if (queued !== null) preemptQueuedJob(state, server, queued);
  if (running !== null) running.cancelRequested = true;
  server.status = statusDuring(action);
  return changed(model, server, "ServerPower", {
    action,
    timeout_seconds: timeoutSeconds,
    force_after: force,
  });
}

function resize(
  model: ControlPlaneModel,
  server: ModelServer,
  { package: slug, allowRestart, growDisk }: Extract<ServerRequest, { to: "resize" }>,
): ServerAnswer {
  const no = refusedByRules(model.state, server, "resize");
  if (no !== null) return no;
  const to = planOf(slug);
  const diskGb = diskOf(server);
  const isRunning = server.status === "running";
  const [first] = decideResize({
    id: server.id,
    isRunning,
    from: planOf(server.package),
    diskGb,
    to,
    growDisk,
    allowRestart,
  });
  if (first !== undefined) return refused(409, first.code);
  const disk_gb = diskAfterResize({ diskGb, to, growDisk });
  server.status = "resizing";
  server.resizes = { package: slug, diskGb: disk_gb };
  return changed(model, server, "ServerResize", { package: slug, disk_gb, run: isRunning });
}

function rebuild(model: ControlPlaneModel, server: ModelServer, image: string): ServerAnswer {
  const no = refusedByRules(model.state, server, "rebuild");
  if (no !== null) return no;
  const isBroken = server.status === "error";
  model.passWaitingRules(server);
  server.status = "rebuilding";
  server.hasSecret = true;
  const answer = changed(model, server, "ServerRebuild", { image });
  answer.body.job.irreversible = isBroken;
  return answer;
}

function resetPassword(
  model: ControlPlaneModel,
  server: ModelServer,
  when: "now" | "next_boot",
): ServerAnswer {
  // The region is not scanned here: the job finds out whether the guest agent answers.
  const no = refusedByRules(model.state, server, when === "now" ? "password_reset_now" : "password_reset");
  if (no !== null) return no;
  server.hasSecret = true;
  return changed(model, server, "ServerPasswordReset", { when });
}

function rename(model: ControlPlaneModel, server: ModelServer, name: string): ServerAnswer | Changed {
  const { state } = model;
  const no = refusedByRules(state, server, "update");
  if (no !== null) return no;
  if (name === server.name) return atOnce(server);
  const notRenamed = refusedByRules(state, server, "rename") ?? nameTaken(model, name);
  if (notRenamed !== null) return notRenamed;
  server.name = name;
  return changed(model, server, "ServerUpdate");
}

function protect(
  model: ControlPlaneModel,
  server: ModelServer,
  wanted: Extract<ServerRequest, { to: "protect" }>,
): Refused | Changed {
  const no = refusedByRules(model.state, server, "update");
  if (no !== null) return no;
  server.deleteProtected = wanted.delete;
  server.rebuildProtected = wanted.rebuild;
  return atOnce(server);
}

/** A change that does not concern the region: its applied state stays current. */
function atOnce(server: ModelServer): Changed {
  const isCurrent = server.observedGeneration === server.generation;
  server.generation += 1;
  if (isCurrent) server.observedGeneration = server.generation;
  return { status: 200, body: { server, job: null } };
}

function nameTaken({ state }: ControlPlaneModel, name: string): Refused | null {
  const isTaken = [...state.servers.values()].some((each) => each.name === name && each.status !== "deleted");
  return isTaken ? refused(409, "name_taken") : null;
}

function changed(
  model: ControlPlaneModel,
  server: ModelServer,
  kind: "ServerPower" | "ServerResize" | "ServerRebuild" | "ServerPasswordReset" | "ServerUpdate",
  parameters: JobParameters = {},
): Accepted {
  server.reasonCode = null;
  server.generation += 1;
  return model.queue(server, kind, parameters);
}

/** Adopts a VM that was created manually under one of the region's numbers. */
export function adoptServer(model: ControlPlaneModel, vmid: number, name: string): ServerAnswer {
  const { state } = model;
  const { first, last } = state.settings.vmidRange;
  if (vmid < first || vmid > last) return refused(422, "validation_failed");
  const no = nameTaken(model, name);
  if (no !== null) return no;
  const taken = state.vmids.get(vmid)?.state;
  if (taken !== undefined && taken !== "quarantined") return refused(409, "in_use");
  const server = state.addServer(name, true);
  server.hasSecret = false;
  server.deleteProtected = true;
  state.takeThisVmid(vmid, server.id);
  if (state.takeAddress(server.id) === null)
    throw new Error("the model has no room for another server: give it more addresses");
  return model.queue(server, "ServerAdopt");
}
