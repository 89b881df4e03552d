import { failure } from "../api-error.ts";
import type { Call } from "../call.ts";
import { parsePropertyString } from "../schema/check-property.ts";
import { isDriveKey } from "../schema/option-keys.ts";
import { splitList } from "../schema/property-schema.ts";
import { isWindows } from "../vm/cloud-init.ts";
import { type ConfigDraft, draftVolume } from "../vm/config-draft.ts";
import { storedDescription } from "../vm/config-file.ts";
import { requireNoProtection } from "../vm/config-lock.ts";
import { vmCheck } from "../vm/config-permissions.ts";
import { createDisks } from "../vm/create-disks.ts";
import { isCdrom, isCloudInit, parseDrive, registerUnused } from "../vm/drives.ts";
import { requireBridgeAccess } from "../vm/networks.ts";
import { cryptSalt, sha256Crypt } from "../vm/sha256-crypt.ts";
import { normaliseTags } from "../vm/tags.ts";

function requireDrivePrivileges(call: Call, vmid: number, key: string, value: string): void {
  const drive = parseDrive(key, value);
  const check = vmCheck(call.region, call.authUser, vmid);
  if (isCloudInit(drive)) check(["VM.Config.Cloudinit", "VM.Config.CDROM"]);
  else if (isCdrom(drive)) check(["VM.Config.CDROM"]);
  else check(["VM.Config.Disk"]);
}

/** Notes that a key shall go; returns false when it is not there, which is only worth a warning. */
export function stageDeletion(call: Call, draft: ConfigDraft, key: string, force: boolean): boolean {
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

/** Records a new value as pending, allocating what it requests. */
export async function stageOption(call: Call, draft: ConfigDraft, key: string, value: string): Promise<void> {
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
