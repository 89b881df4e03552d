import { badParameters, failure } from "../api-error.ts";
import type { VolumeDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import { type Region, storageOf } from "../region.ts";
import { formatSize } from "../schema/formats.ts";
import { isDriveKey } from "../schema/option-keys.ts";
import {
  cloudInitKey,
  cloudInitVolumeName,
  freeDiskName,
  isCdrom,
  NEW_DISK,
  newVolume,
  parseDrive,
  printDrive,
  storageName,
  withStorageLock,
} from "./drives.ts";

const CLOUD_INIT_BYTES = 4 * 1024 * 1024;
const isNewCloudInit = (file: string): boolean => /^([^/:\s]+):cloudinit$/.test(file);

/** Privileges on the storages that the given drives use. */
export function requireStorageAccess(
  region: Region,
  authUser: string,
  vmid: number,
  options: Readonly<Record<string, string>>,
): void {
  if (authUser === "root@pam") return;
  for (const [key, value] of Object.entries(options)) {
    if (!isDriveKey(key)) continue;
    const drive = parseDrive(key, value);
    const { file } = drive;
    if (file === "" || file === "none") continue;
    if (isNewCloudInit(file)) {
      region.permissions.require(authUser, `/storage/${storageName(file)}`, "Datastore.AllocateSpace");
    } else if (isCdrom(drive) && file === "cdrom") {
      region.permissions.require(authUser, "/", "Sys.Console");
    } else if (NEW_DISK.test(file)) {
      const storage = NEW_DISK.exec(file)?.[1];
      if (storage === undefined) throw badParameters({ [key]: "missing storage" });
      region.permissions.require(authUser, `/storage/${storage}`, "Datastore.AllocateSpace");
      if (!storageOf(region, storage).content.includes("images")) {
        throw badParameters({ storage: `storage '${storage}' does not support vm images` });
      }
    } else if (file.startsWith("/")) {
      throw failure("Only root can pass arbitrary filesystem paths.");
    } else if (region.store.get("volume", file)?.vmid !== vmid) {
      region.permissions.requireAny(authUser, `/storage/${storageName(file)}`, ["Datastore.Allocate"]);
    }
  }
}

/** The result of {@link createDisks}. */
export interface CreatedDisks {
  readonly options: Record<string, string>;
  readonly volumes: VolumeDocument[];
}

/**
 * Allocates what `STORE:32` and `STORE:cloudinit` request and completes the options of existing volumes.
 *
 * @param config the configuration so far: a second cloud-init drive is refused
 */
export async function createDisks(
  region: Region,
  node: string,
  vmid: number,
  config: Readonly<Record<string, string>>,
  options: Readonly<Record<string, string>>,
  wait: (seconds: number) => Promise<void>,
): Promise<CreatedDisks> {
  const result: CreatedDisks = { options: {}, volumes: [] };
  for (const [key, value] of Object.entries(options)) {
    const drive = parseDrive(key, value);
    const { file } = drive;
    const storage = storageName(file);
    const add = (volume: VolumeDocument, extra: Record<string, string> = {}): void => {
      result.volumes.push(volume);
      const { format: _format, "import-from": _import, ...rest } = drive;
      result.options[key] = printDrive(key, {
        ...rest,
        ...extra,
        file: volume.volid,
        size: formatSize(volume.sizeBytes),
      });
    };
    const fresh = NEW_DISK.exec(file);
    if (isNewCloudInit(file)) {
      const other = cloudInitKey({ ...config, ...result.options });
      if (other !== undefined && other !== key) {
        throw failure(`${key} - cloud-init drive is already attached at '${other}'`);
      }
      const volid = `${storage}:${cloudInitVolumeName(region, storage, vmid)}`;
      const known = region.store.get("volume", volid);
      if (known !== undefined && other === undefined) {
        throw failure(`rbd create 'vm-${vmid}-cloudinit' error: rbd: create error: (17) File exists`);
      }
      await withStorageLock(region, node, storage, () => wait(seconds.allocateVolume));
      add(newVolume(region, node, volid, vmid, CLOUD_INIT_BYTES, "raw"), { media: "cdrom" });
    } else if (fresh !== null) {
      const target = fresh[1] ?? "";
      const { type } = storageOf(region, target);
      const format = type === "rbd" ? "raw" : (drive.format ?? "raw");
      const source = drive["import-from"];
      const imported = source === undefined ? undefined : region.store.get("volume", source);
      if (source !== undefined && imported === undefined) throw failure(`volume '${source}' does not exist`);
      const bytes = imported?.sizeBytes ?? Math.round(Number(fresh[2]) * 1024 ** 3);
      const volume = await withStorageLock(region, node, target, async () => {
        await wait(seconds.allocateVolume);
        const taken = new Set(result.volumes.map(({ volid }) => volid));
        const { volid } = freeDiskName(region, target, vmid, format, taken);
        return newVolume(region, node, volid, vmid, bytes, format);
      });
      add(volume);
    } else if (file === "none" || file === "cdrom") {
      result.options[key] = printDrive(key, { ...drive, media: "cdrom" });
    } else {
      const volume = region.store.get("volume", file);
      if (volume === undefined) throw failure(`volume '${file}' does not exist`);
      const size = formatSize(volume.sizeBytes);
      result.options[key] = printDrive(key, isCdrom(drive) ? { ...drive, size } : { ...drive, size });
    }
  }
  return result;
}
