import { badParameters, failure, permissionDenied } from "../api-error.ts";
import { type Call, flag, required, text } from "../call.ts";
import type { VmDocument } from "../documents.ts";
import { requireQuorum, storageOf, vmOn } from "../region.ts";
import { isDriveKey } from "../schema/option-keys.ts";
import { requireNoConfigLock } from "../vm/config-lock.ts";
import { isCdrom, isCloudInit, parseDrive, storageName } from "../vm/drives.ts";
import { parseNet, printNet, randomMac, requireBridgeAccess } from "../vm/networks.ts";

/** The parameters of a clone. */
export interface CloneRequest {
  readonly source: number;
  readonly newid: number;
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly pool: string | undefined;
  readonly storage: string | undefined;
  readonly format: string | undefined;
  readonly target: string | undefined;
  readonly full: boolean | undefined;
}

/** The copy: its config without disks, and the disks to copy. */
export interface ClonePlan {
  readonly config: Record<string, string>;
  /** Disks to copy, in key order. */
  readonly drives: readonly (readonly [key: string, drive: Record<string, string> & { file: string }])[];
  readonly full: boolean;
}

/** Reads the parameters; a target that is this node is none. */
export function parseCloneRequest(call: Call): CloneRequest {
  const target = text(call, "target");
  return {
    source: Number(required(call, "vmid")),
    newid: Number(required(call, "newid")),
    name: text(call, "name"),
    description: text(call, "description"),
    pool: text(call, "pool"),
    storage: text(call, "storage"),
    format: text(call, "format"),
    target: target === call.node || target === "localhost" ? undefined : target,
    full: call.params.full === undefined ? undefined : flag(call, "full"),
  };
}

function checkTarget(call: Call, request: CloneRequest): void {
  const { region } = call;
  const { storage, target } = request;
  if (request.pool !== undefined && region.store.get("pool", request.pool) === undefined) {
    throw permissionDenied(`pool '${request.pool}' does not exist`);
  }
  if (target !== undefined && region.store.get("node", target) === undefined) {
    throw failure(`no such cluster node '${target}'`);
  }
  if (storage === undefined) return;
  if (!storageOf(region, storage).content.includes("images")) {
    throw badParameters({ storage: `storage '${storage}' does not support vm images` });
  }
  if (target !== undefined && !storageOf(region, storage).shared) {
    throw failure(`can't clone to non-shared storage '${storage}'`);
  }
}

/** Privileges on the storages; returns whether every volume of the source is on shared storage. */
function checkStorages(call: Call, source: VmDocument, storage: string | undefined): boolean {
  let shared = true;
  for (const [key, value] of Object.entries(source.config)) {
    if (!isDriveKey(key)) continue;
    const drive = parseDrive(key, value);
    if (drive.file === "none" || drive.file === "cdrom") continue;
    if (!storageOf(call.region, storageName(drive.file)).shared) shared = false;
    if (!isCdrom(drive)) {
      const target = storage ?? storageName(drive.file);
      call.region.permissions.require(call.authUser, `/storage/${target}`, "Datastore.AllocateSpace");
    }
  }
  return shared;
}

/** A device of the host is root's: a clone would pass it on. */
function refuseHostDevices(authUser: string, config: Readonly<Record<string, string>>): void {
  if (authUser === "root@pam") return;
  for (const [key, value] of Object.entries(config)) {
    const isUsb = /^usb\d+$/.test(key);
    const [, host = ""] = /^(?:host=)?([^,=]+)(?:,|$)/.exec(value) ?? [];
    if ((!isUsb && !/^hostpci\d+$/.test(key)) || host === "" || host.toLowerCase() === "spice") continue;
    throw failure(`only root can set '${key}' config for ${isUsb ? "real" : "non-mapped"} devices`);
  }
}

/** Runs before the fork and again in the task: what it throws is an HTTP error the first time. */
export function planClone(call: Call, request: CloneRequest): ClonePlan {
  const { region, authUser } = call;
  checkTarget(call, request);
  requireQuorum(region);
  const source = vmOn(region, call.node, request.source);
  requireNoConfigLock(source);
  if (text(call, "snapname") !== undefined)
    throw failure(`snapshot '${text(call, "snapname")}' does not exist`);
  const full = request.full ?? source.config.template !== "1";
  if (request.storage !== undefined && !full)
    throw failure("parameter 'storage' not allowed for linked clones");
  if (request.format !== undefined && !full)
    throw failure("parameter 'format' not allowed for linked clones");
  const shared = checkStorages(call, source, request.storage);
  requireBridgeAccess(region, authUser, source.config);
  refuseHostDevices(authUser, source.config);
  const custom = /(?:^|cputype=)custom-([^,]+)/.exec(source.config.cpu ?? "")?.[1];
  if (custom !== undefined && region.version === "9.2") {
    region.permissions.require(authUser, `/mapping/cpu-model/${custom}`, "Mapping.Use");
  }
  if (request.target !== undefined && !shared) {
    throw failure(`can't clone VM to node '${request.target}' (VM uses local storage)`);
  }
  // Only this node's directory is checked here; the cluster file system notices the others.
  if (region.store.get("vm", String(request.newid))?.node === call.node) {
    throw failure(`unable to create VM ${request.newid}: config file already exists`);
  }
  const config: Record<string, string> = {};
  const drives: (readonly [string, Record<string, string> & { file: string }])[] = [];
  for (const key of Object.keys(source.config).sort()) {
    const value = source.config[key] ?? "";
    if (/^unused\d+$/.test(key) || ["lock", "parent", "vmstate", "snaptime"].includes(key)) continue;
    if (/^net\d+$/.test(key)) {
      config[key] = printNet({ ...parseNet(value), macaddr: randomMac(region.runtime) });
    } else if (!isDriveKey(key)) {
      config[key] = value;
    } else {
      const drive = parseDrive(key, value);
      if (isCdrom(drive) && !isCloudInit(drive)) {
        config[key] = value;
      } else {
        const linkable = isCloudInit(drive) || full || /[:/]base-\d+-disk/.test(drive.file);
        if (!linkable) throw failure(`Linked clone feature is not supported for '${drive.file}' (${key})`);
        drives.push([key, drive]);
      }
    }
  }
  return { config, drives, full };
}
