import { join } from "node:path";
import type { VmDocument } from "../documents.ts";
import { parseSize } from "../schema/formats.ts";
import { parseDrive } from "../vm/drives.ts";

/** The machine that a VM's configuration describes, as far as its guest sees it. */
export type GuestHardware = {
  readonly memoryMb: number;
  readonly cores: number;
  /** The volume that it boots from; null for a machine without a disk. */
  readonly disk: { readonly volid: string; readonly bytes: number } | null;
};

export function guestHardware({ config }: VmDocument): GuestHardware {
  const key = /order=([^;,]+)/.exec(config.boot ?? "")?.[1] ?? "scsi0";
  const value = config[key];
  const drive = value === undefined ? undefined : parseDrive(key, value);
  const bytes = parseSize(drive?.size ?? "");
  return {
    memoryMb: Number(config.memory ?? "512"),
    cores: Number(config.cores ?? "1") * Number(config.sockets ?? "1"),
    disk: drive === undefined || bytes == null ? null : { volid: drive.file, bytes },
  };
}

/** The file of a volume. Volume ids contain a colon and no slash. */
export const diskFile = (dataDir: string, volid: string): string =>
  join(dataDir, "disks", `${volid.replaceAll(/[^\w.-]/g, "_")}.img`);
