import { parsePropertyString } from "./property-string.ts";
import { parseSize } from "./sizes.ts";

export type Disk = {
  /** "scsi0" */
  readonly key: string;
  /** "ceph-vm:vm-20001-disk-0" */
  readonly volume: string;
  readonly media: "disk" | "cdrom";
  readonly cloudInit: boolean;
  /** Null when it is not in the config. */
  readonly bytes: number | null;
};

const DISK_KEY = /^(ide|sata|scsi|virtio)\d+$/;

/** Every drive in a config, in the order of its keys. */
export function disksOf(config: Readonly<Record<string, string>>): Disk[] {
  return Object.keys(config)
    .filter((key) => DISK_KEY.test(key))
    .sort()
    .map((key) => {
      const properties = parsePropertyString(config[key] ?? "", "file");
      const volume = properties.get("file") ?? properties.get("volume") ?? "";
      return {
        key,
        volume,
        media: properties.get("media") === "cdrom" ? "cdrom" : "disk",
        cloudInit: /[:/](?:vm-\d{1,9}-)?cloudinit(?:\.|$)/.test(volume),
        bytes: parseSize(properties.get("size")),
      };
    });
}

/** The disk the guest boots from: the first disk in `boot`, the old `bootdisk`, or the only disk there is. */
export function bootDiskOf(config: Readonly<Record<string, string>>): Disk | null {
  const disks = disksOf(config).filter((disk) => disk.media === "disk");
  const order = (parsePropertyString(config.boot ?? "", "legacy").get("order") ?? "").split(";");
  const named = order.map((key) => disks.find((disk) => disk.key === key)).find((disk) => disk !== undefined);
  return (
    named ??
    disks.find((disk) => disk.key === config.bootdisk) ??
    (disks.length === 1 ? disks[0] : null) ??
    null
  );
}
