import { badParameters, failure, permissionDenied } from "../api-error.ts";
import { type Call, flag, type Handlers, required, text } from "../call.ts";
import type { VmDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import { type Region, requireQuorum, vmOn } from "../region.ts";
import { parsePropertyString } from "../schema/check-property.ts";
import { isDriveKey, isOption } from "../schema/option-keys.ts";
import { splitList } from "../schema/property-schema.ts";
import { startTask } from "../tasks/worker.ts";
import { applyPendingCold, applyPendingHot, generateCloudInit } from "../vm/apply-pending.ts";
import { isWindows } from "../vm/cloud-init.ts";
import {
  type ConfigDraft,
  cleanUpPending,
  draftChanges,
  draftVolume,
  openDraft,
} from "../vm/config-draft.ts";
import { configDigest, storedDescription } from "../vm/config-file.ts";
import { requireNoConfigLock, requireNoProtection, withVmLock } from "../vm/config-lock.ts";
import { requireConfigPrivileges, vmCheck } from "../vm/config-permissions.ts";
import { createDisks, requireStorageAccess } from "../vm/create-disks.ts";
import { isCdrom, isCloudInit, parseDrive, registerUnused } from "../vm/drives.ts";
import { normaliseNet, requireBridgeAccess } from "../vm/networks.ts";
import { cryptSalt, sha256Crypt } from "../vm/sha256-crypt.ts";
import { validateSshKeys } from "../vm/ssh-keys.ts";
import { normaliseTags } from "../vm/tags.ts";

const NOT_OPTIONS = new Set([
  "node",
  "vmid",
  "digest",
  "delete",
  "revert",
  "force",
  "skiplock",
  "background_delay",
  "import-working-storage",
]);

interface Update {
  readonly vmid: number;
  readonly options: Record<string, string>;
  readonly deletions: string[];
  readonly reverts: string[];
  readonly force: boolean;
  readonly digest: string | undefined;
}

function parseUpdate(call: Call): Update {
  const options: Record<string, string> = {};
  for (const key of Object.keys(call.params)) {
    if (!NOT_OPTIONS.has(key)) options[key] = text(call, key) ?? "";
  }
  if (call.params.skiplock !== undefined && call.authUser !== "root@pam") {
    throw badParameters({ skiplock: "Only root may use this option." });
  }
  if (options.sshkeys !== undefined) validateSshKeys(options.sshkeys);
  const deletions = splitList(text(call, "delete") ?? "").map((key) => (key === "cdrom" ? "ide2" : key));
  const reverts = splitList(text(call, "revert") ?? "");
  const given = [...deletions, ...reverts, ...Object.keys(options), ...call.valueless];
  if (given.length === 0) throw failure("no options specified");
  if (options.cdrom !== undefined) {
    if (options.ide2 !== undefined) throw badParameters({ cdrom: "option conflicts with ide2" });
    options.ide2 = `${options.cdrom},media=cdrom`;
    delete options.cdrom;
  }
  for (const key of reverts) {
    if (!isOption(key)) throw badParameters({ revert: `unknown option '${key}'` });
    if (options[key] !== undefined) {
      throw badParameters({ delete: `you can't use '-${key}' and -revert ${key}' at the same time` });
    }
  }
  for (const key of deletions) {
    if (options[key] !== undefined) {
      throw badParameters({ delete: `you can't use '-${key}' and -delete ${key}' at the same time` });
    }
    if (reverts.includes(key)) {
      throw badParameters({ revert: `you can't use '-delete ${key}' and -revert ${key}' at the same time` });
    }
    if (!isOption(key)) throw badParameters({ delete: `unknown option '${key}'` });
  }
  return {
    vmid: Number(required(call, "vmid")),
    options,
    deletions,
    reverts,
    force: flag(call, "force"),
    digest: text(call, "digest"),
  };
}

function loadAndCheck(call: Call, update: Update): VmDocument {
  const vm = vmOn(call.region, call.node, update.vmid);
  if (update.digest !== undefined && update.digest !== configDigest(vm)) {
    throw failure("checksum mismatch (file change by other user?)");
  }
  requireNoConfigLock(vm);
  const { memory, balloon } = update.options;
  if (memory !== undefined || balloon !== undefined) {
    const assigned = memory ?? vm.pending.memory ?? vm.config.memory ?? "512";
    const wanted = balloon ?? vm.pending.balloon ?? vm.config.balloon ?? "0";
    if (Number(wanted) > Number(assigned.replace(/^current=/, ""))) {
      throw failure("balloon value too large (must be smaller than assigned memory)");
    }
  }
  return vm;
}

function requireDrivePrivileges(call: Call, vmid: number, key: string, value: string): void {
  const drive = parseDrive(key, value);
  const check = vmCheck(call.region, call.authUser, vmid);
  if (isCloudInit(drive)) check(["VM.Config.Cloudinit", "VM.Config.CDROM"]);
  else if (isCdrom(drive)) check(["VM.Config.CDROM"]);
  else check(["VM.Config.Disk"]);
}

function stageDeletion(call: Call, draft: ConfigDraft, key: string, force: boolean): boolean {
  const { vm } = draft;
  const value = draft.config[key] ?? draft.pending[key];
  // "cannot delete 'x' - not set in current configuration!" is only a warning.
  if (value === undefined) return false;
  delete draft.pending[key];
  const order = /order=([^,]*)/.exec(draft.config.boot ?? "")?.[1];
  const devices = order === undefined ? [] : splitList(order);
  if (devices.includes(key)) {
    draft.pending.boot = `order=${devices.filter((device) => device !== key).join(";")}`;
  }
  if (/^unused\d+$/.test(key)) {
    requireNoProtection(vm, `can't remove unused disk '${value}'`);
    call.region.permissions.require(call.authUser, `/vms/${vm.vmid}`, "VM.Config.Disk");
    if (draftVolume(call.region, draft, value)?.vmid === vm.vmid) draft.freed.push(value);
    delete draft.config[key];
  } else if (isDriveKey(key)) {
    requireNoProtection(vm, `can't remove drive '${key}'`);
    requireDrivePrivileges(call, vm.vmid, key, value);
    draft.pendingDelete[key] = force;
  } else if (/^serial\d+$/.test(key)) {
    if (value !== "socket") throw failure(`only root can delete '${key}' config for real devices`);
    call.region.permissions.require(call.authUser, `/vms/${vm.vmid}`, "VM.Config.HWType");
    draft.pendingDelete[key] = force;
  } else if (key === "tags") {
    requireTagPrivilege(call, vm.vmid);
    delete draft.config[key];
  } else {
    if (/^net\d+$/.test(key) && draft.config[key] !== undefined) {
      requireBridgeAccess(call.region, call.authUser, { [key]: draft.config[key] });
    }
    draft.pendingDelete[key] = force;
  }
  return true;
}

function requireTagPrivilege(call: Call, vmid: number): void {
  call.region.permissions.require(call.authUser, `/vms/${vmid}`, "VM.Config.Options");
}

async function stageOption(call: Call, draft: ConfigDraft, key: string, value: string): Promise<void> {
  const { region, node } = call;
  const { vm } = draft;
  if (draft.pending[key] === value) return;
  if (isDriveKey(key)) {
    if (draft.config[key] !== undefined) requireDrivePrivileges(call, vm.vmid, key, draft.config[key]);
    requireDrivePrivileges(call, vm.vmid, key, value);
    const pending = draft.pending[key];
    if (pending !== undefined) {
      registerUnused(draft.config, vm, draftVolume(region, draft, parseDrive(key, pending).file));
    }
    const created = await createDisks(region, node, vm.vmid, draft.config, { [key]: value }, (s) =>
      region.runtime.wait(s),
    );
    draft.allocated.push(...created.volumes);
    Object.assign(draft.pending, created.options);
  } else if (/^serial\d+$/.test(key)) {
    if (value !== "socket" || (draft.config[key] ?? "socket") !== "socket") {
      throw failure(`only root can modify '${key}' config for real devices`);
    }
    region.permissions.require(call.authUser, `/vms/${vm.vmid}`, "VM.Config.HWType");
    draft.pending[key] = value;
  } else if (/^(hostpci|usb|parallel)\d+$/.test(key)) {
    throw failure(
      `only root can set '${key}' config for ${key.startsWith("hostpci") ? "non-mapped" : "real"} devices`,
    );
  } else if (key === "tags") {
    requireTagPrivilege(call, vm.vmid);
    draft.pending[key] = normaliseTags(value);
  } else if (key === "cipassword") {
    const hashed = /^\$(?:[156]|2[ay])(\$.+){2}/.test(value);
    // Windows gets the clear text: cloudbase-init has no use for a hash.
    draft.config[key] =
      hashed || isWindows(draft.config)
        ? value
        : sha256Crypt(
            value,
            cryptSalt(() => region.runtime.random()),
          );
  } else if (key === "description") {
    draft.pending[key] = storedDescription(value);
  } else if (key === "boot") {
    const order = parsePropertyString("pve-qm-boot", value).order;
    for (const device of order === undefined ? [] : splitList(order)) {
      const exists = draft.config[device] ?? draft.pending[device] ?? call.params[device];
      if (exists === undefined || draft.pendingDelete[device] !== undefined) {
        throw failure(`invalid bootorder: device '${device}' does not exist'`);
      }
    }
    draft.pending[key] = order === undefined ? value : `order=${splitList(order).join(";")}`;
    if (draft.config.bootdisk !== undefined && order !== undefined) draft.pendingDelete.bootdisk = false;
  } else {
    if (/^net\d+$/.test(key) && draft.config[key] !== undefined) {
      requireBridgeAccess(region, call.authUser, { [key]: draft.config[key] });
    }
    draft.pending[key] = value;
  }
  delete draft.pendingDelete[key];
}

async function applyUpdate(call: Call, update: Update): Promise<Record<string, string>> {
  const { region, node } = call;
  const draft = openDraft(loadAndCheck(call, update));
  requireQuorum(region);
  // "k=" reaches the writer of the file as an undefined value.
  const valueless = call.valueless.find(isOption);
  if (valueless !== undefined) throw failure(`unable to parse value of '${valueless}' - got undefined value`);
  const modified = new Set<string>();
  const options = { ...update.options };
  for (const key of update.reverts) {
    if (draft.config[key] !== undefined) options[key] = draft.config[key];
    delete draft.pending[key];
    delete draft.pendingDelete[key];
  }
  for (const key of update.deletions) if (stageDeletion(call, draft, key, update.force)) modified.add(key);
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
        pending: [...Object.keys(draft.pending), ...Object.keys(draft.pendingDelete)],
        allocated: draft.allocated.map(({ volid }) => volid),
        freed: draft.freed,
      },
    },
    draftChanges(draft),
  );
  return errors;
}

/** Everything PUT and POST check before they lock: parameters, privileges, a first look at the file. */
function prepare(call: Call): Update {
  const { region, authUser } = call;
  const update = parseUpdate(call);
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
  // What could be applied was applied; the failed keys stay pending.
  if (Object.keys(errors).length > 0) throw badParameters(errors);
  return null;
}

async function postConfig(call: Call): Promise<string> {
  const update = prepare(call);
  return await withVmLock(call.region, call.node, update.vmid, async () => {
    loadAndCheck(call, update);
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
      worker.stage("apply");
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

/** Used by create as well: what a caller may set on a VM that does not exist yet. */
export function requireCreatePrivileges(
  region: Region,
  authUser: string,
  vmid: number,
  pool: string | undefined,
): void {
  if (pool !== undefined && region.store.get("pool", pool) === undefined) {
    throw permissionDenied(`pool '${pool}' does not exist`);
  }
  const onPool = pool !== undefined && region.permissions.has(authUser, `/pool/${pool}`, "VM.Allocate");
  if (!onPool) region.permissions.require(authUser, `/vms/${vmid}`, "VM.Allocate");
}
