import { badParameters, failure } from "../api-error.ts";
import { type Call, type Handlers, required } from "../call.ts";
import { seconds } from "../durations.ts";
import { requireQuorum, vmOn } from "../region.ts";
import { isOption } from "../schema/option-keys.ts";
import { startTask } from "../tasks/worker.ts";
import { applyPendingCold, applyPendingHot, generateCloudInit } from "../vm/apply-pending.ts";
import { cleanUpPending, draftChanges, openDraft } from "../vm/config-draft.ts";
import { requireNoConfigLock, withVmLock } from "../vm/config-lock.ts";
import { requireConfigPrivileges, vmCheck } from "../vm/config-permissions.ts";
import { requireStorageAccess } from "../vm/create-disks.ts";
import { normaliseNet, requireBridgeAccess } from "../vm/networks.ts";

import { type ConfigUpdate, loadForUpdate, parseConfigUpdate } from "./config-update.ts";
import { stageDeletion, stageOption } from "./stage-config.ts";

const EMPTY_IS_NOTHING: ReadonlySet<string> = new Set(["description", "tags"]);

async function applyUpdate(call: Call, update: ConfigUpdate): Promise<Record<string, string>> {
  const { region, node } = call;
  const draft = openDraft(loadForUpdate(call, update));
  requireQuorum(region);
  // "k=" reaches the writer of the file as an undefined value; these two are written as nothing.
  const emptied = call.valueless.filter((key) => EMPTY_IS_NOTHING.has(key));
  const valueless = call.valueless.find((key) => isOption(key) && !EMPTY_IS_NOTHING.has(key));
  if (valueless !== undefined) throw failure(`unable to parse value of '${valueless}' - got undefined value`);
  const modified = new Set<string>();
  const options = { ...update.options };
  for (const key of update.reverts) {
    if (draft.config[key] !== undefined) options[key] = draft.config[key];
    delete draft.pending[key];
    delete draft.pendingDelete[key];
  }
  for (const key of update.deletions) if (stageDeletion(call, draft, key, update.force)) modified.add(key);
  for (const key of emptied) if (stageDeletion(call, draft, key, false)) modified.add(key);
  for (const [key, value] of Object.entries(options)) {
    modified.add(key);
    await stageOption(call, draft, key, value);
  }
  cleanUpPending(draft);
  await region.runtime.wait(seconds.configWrite);
  let errors: Record<string, string> = {};
  if (draft.vm.process === null) applyPendingCold(region, draft);
  else errors = applyPendingHot(region, draft, modified);
  region.store.commit(
    {
      op: "config-changed",
      node,
      vmid: update.vmid,
      user: call.authUser,
      detail: {
        set: Object.keys(update.options),
        deleted: update.deletions,
        devices: Object.fromEntries(Object.entries(update.options).filter(([key]) => /^net\d+$/.test(key))),
        pending: [...Object.keys(draft.pending), ...Object.keys(draft.pendingDelete)],
        allocated: draft.allocated.map(({ volid }) => volid),
        freed: draft.freed,
      },
    },
    draftChanges(draft),
  );
  return errors;
}

/** Every check of PUT and POST before they lock: parameters, privileges, a first read of the file. */
function prepare(call: Call): ConfigUpdate {
  const { region, authUser } = call;
  const update = parseConfigUpdate(call);
  for (const [key, value] of Object.entries(update.options)) {
    if (/^net\d+$/.test(key)) update.options[key] = normaliseNet(region.runtime, value);
    if (key === "memory") update.options[key] = value.replace(/^current=/, "");
  }
  const check = vmCheck(region, authUser, update.vmid);
  requireConfigPrivileges(region, authUser, check, update.deletions);
  requireConfigPrivileges(region, authUser, check, Object.keys(update.options));
  requireStorageAccess(region, authUser, update.vmid, update.options);
  requireBridgeAccess(region, authUser, update.options);
  return update;
}

async function putConfig(call: Call): Promise<null> {
  const update = prepare(call);
  const errors = await withVmLock(call.region, call.node, update.vmid, () => applyUpdate(call, update));
  // All other changes were applied; the failed keys stay pending.
  if (Object.keys(errors).length > 0) throw badParameters(errors);
  return null;
}

async function postConfig(call: Call): Promise<string> {
  const update = prepare(call);
  return await withVmLock(call.region, call.node, update.vmid, async () => {
    loadForUpdate(call, update);
    let release: () => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      release = resolve;
    });
    const what = { node: call.node, type: "qmconfig", id: String(update.vmid), user: call.authUser };
    const upid = startTask(call.region, what, async (worker) => {
      await done;
      worker.log(
        `update VM ${update.vmid}: ${Object.keys(update.options)
          .sort()
          .map((key) => `-${key}`)
          .join(" ")}`,
      );
      await worker.stage("apply");
      const errors = await withVmLock(call.region, call.node, update.vmid, () => applyUpdate(call, update));
      if (Object.keys(errors).length > 0) throw badParameters(errors);
    });
    release();
    return upid;
  });
}

async function regenerate(call: Call): Promise<null> {
  const vmid = Number(required(call, "vmid"));
  const { region, node } = call;
  return await withVmLock(region, node, vmid, async () => {
    const vm = vmOn(region, node, vmid);
    requireNoConfigLock(vm);
    await region.runtime.wait(seconds.regenerateCloudInit);
    const draft = openDraft(vm);
    generateCloudInit(draft);
    if (draft.drive === vm.drive) return null;
    region.store.commit(
      { op: "cloudinit-regenerated", node, vmid, user: call.authUser },
      draftChanges(draft),
    );
    return null;
  });
}

export const vmConfigHandlers: Handlers = {
  "PUT /nodes/{node}/qemu/{vmid}/config": putConfig,
  "POST /nodes/{node}/qemu/{vmid}/config": postConfig,
  "PUT /nodes/{node}/qemu/{vmid}/cloudinit": regenerate,
};
