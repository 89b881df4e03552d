import { failure } from "../api-error.ts";
import type { VmDocument, VolumeDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import { storageOf } from "../region.ts";
import { configOptions } from "../schema/api-schema.ts";
import { parsePropertyString } from "../schema/check-property.ts";
import { isDriveKey } from "../schema/option-keys.ts";
import { FormatError, type PropertyMap } from "../schema/property-schema.ts";
import { printPropertyString } from "../schema/property-string.ts";

const CLOUD_INIT = /[:/](?:vm-\d+-)?cloudinit(?:\.qcow2)?$/;

/** "STORE:32": allocate 32 GiB. */
export const NEW_DISK = /^(?:([^/:\s]+):)?(\d+(?:\.\d+)?)$/;

const formatFor = (key: string): string => configOptions[key]?.format ?? "";

/** Parses the value of scsi0, ide2, unused0, ...; a bare text that does not parse is a 500. */
export function parseDrive(key: string, value: string): PropertyMap & { file: string } {
  try {
    const map = parsePropertyString(formatFor(key), value, key);
    return { ...map, file: map.file ?? "" };
  } catch (error) {
    if (error instanceof FormatError) throw failure(`unable to parse drive options for '${key}'`);
    throw error;
  }
}

export function printDrive(key: string, drive: PropertyMap): string {
  return printPropertyString(drive, formatFor(key));
}

export const isCloudInit = (drive: PropertyMap): boolean => CLOUD_INIT.test(drive.file ?? "");
export const isCdrom = (drive: PropertyMap): boolean =>
  drive.media === "cdrom" || /^(none|cdrom)$/.test(drive.file ?? "");

/** The key that holds the cloud-init drive, or undefined. */
export function cloudInitKey(config: Readonly<Record<string, string>>): string | undefined {
  return Object.keys(config).find(
    (key) => isDriveKey(key) && CLOUD_INIT.test((config[key] ?? "").split(",")[0] ?? ""),
  );
}

/** Storage name of a volume id. */
export const storageName = (volid: string): string => volid.split(":")[0] ?? "";

/** Volume ids that a configuration refers to, cloud-init drive and unused disks included. */
export function referencedVolumes(config: Readonly<Record<string, string>>): string[] {
  return Object.entries(config)
    .filter(([key]) => isDriveKey(key) || /^unused\d+$/.test(key))
    .map(([, value]) => value.split(",")[0]?.replace(/^file=/, "") ?? "")
    .filter((volid) => volid.includes(":"));
}

/** The first free name vm-ID-disk-N on a storage; reserved names belong to an allocation under way. */
export function freeDiskName(
  region: Region,
  storage: string,
  vmid: number,
  format: string,
  taken: ReadonlySet<string> = new Set(),
): { name: string; volid: string } {
  const { type } = storageOf(region, storage);
  for (let index = 0; ; index++) {
    const name = type === "rbd" ? `vm-${vmid}-disk-${index}` : `${vmid}/vm-${vmid}-disk-${index}.${format}`;
    const volid = `${storage}:${name}`;
    if (region.store.get("volume", volid) === undefined && !taken.has(volid)) return { name, volid };
  }
}

export function cloudInitVolumeName(region: Region, storage: string, vmid: number): string {
  return storageOf(region, storage).type === "rbd"
    ? `vm-${vmid}-cloudinit`
    : `${vmid}/vm-${vmid}-cloudinit.qcow2`;
}

/** A new volume document; on a storage that is not shared it is on `node`. */
export function newVolume(
  region: Region,
  node: string,
  volid: string,
  vmid: number,
  sizeBytes: number,
  format: string,
  parent: string | null = null,
): VolumeDocument {
  const storage = storageName(volid);
  return {
    volid,
    storage,
    name: volid.slice(storage.length + 1),
    vmid,
    sizeBytes,
    format,
    content: "images",
    node: storageOf(region, storage).shared ? null : node,
    parent,
    createdAt: Math.floor(region.runtime.nowMs() / 1000),
  };
}

/** Parks a disk that was detached as unusedN, unless it is no volume of this VM. */
export function registerUnused(
  config: Record<string, string>,
  vm: VmDocument,
  volume: VolumeDocument | undefined,
): void {
  if (volume === undefined || volume.vmid !== vm.vmid) return;
  if (referencedVolumes(config).includes(volume.volid)) return;
  for (let index = 0; index < 256; index++) {
    const key = `unused${index}`;
    if (config[key] === undefined) {
      config[key] = volume.volid;
      return;
    }
  }
  throw failure("Too many unused volumes - please delete them first.");
}

/** Runs `work` under the storage's lock: cluster-wide for a shared storage, per node otherwise. */
export async function withStorageLock<T>(
  region: Region,
  node: string,
  storage: string,
  work: () => Promise<T>,
): Promise<T> {
  const { shared } = storageOf(region, storage);
  const file = `/var/lock/pve-manager/pve-storage-${storage}`;
  return await region.locks.hold(
    shared ? `cfs:storage-${storage}` : `${node}:${file}`,
    "exclusive",
    10,
    shared
      ? `cfs-lock 'storage-${storage}' error: got lock request timeout`
      : `can't lock file '${file}' - got timeout`,
    work,
  );
}
