/** How many of each indexed option a VM may have: net[n] means net0..net31. */
export const INDEXED_OPTIONS: Readonly<Record<string, number>> = {
  hostpci: 16,
  ide: 4,
  ipconfig: 32,
  net: 32,
  numa: 8,
  parallel: 3,
  sata: 6,
  scsi: 31,
  serial: 4,
  unused: 256,
  usb: 14,
  virtio: 16,
  virtiofs: 10,
  link: 8,
};

const KNOWN_SINGLE =
  /^(acpi|affinity|agent|allow-ksm|amd-sev|arch|args|audio0|autostart|balloon|bios|boot|bootdisk|cicustom|cipassword|citype|ciupgrade|ciuser|cores|cpu|cpulimit|cpuunits|description|efidisk0|freeze|hookscript|hotplug|hugepages|intel-tdx|ivshmem|keephugepages|keyboard|kvm|localtime|lock|machine|memory|meta|migrate_downtime|migrate_speed|name|nameserver|numa|onboot|ostype|protection|reboot|rng0|scsihw|searchdomain|shares|smbios1|smp|sockets|spice_enhancements|sshkeys|startdate|startup|tablet|tags|tdf|template|tpmstate0|vcpus|vga|vmgenid|vmstate|vmstatestorage|watchdog)$/;

/** True for every key that a VM configuration may hold. */
export function isOption(key: string): boolean {
  if (KNOWN_SINGLE.test(key)) return true;
  const indexed = /^([a-z]+?)(\d+)$/.exec(key);
  if (indexed === null) return false;
  const count = INDEXED_OPTIONS[indexed[1] ?? ""];
  return (
    count !== undefined &&
    indexed[1] !== "link" &&
    String(Number(indexed[2])) === indexed[2] &&
    Number(indexed[2]) < count
  );
}

/** True for keys that hold a disk: scsi0, ide2, efidisk0, ... but not unused0. */
export function isDriveKey(key: string): boolean {
  return /^(ide|sata|scsi|virtio)\d+$/.test(key) ? isOption(key) : key === "efidisk0" || key === "tpmstate0";
}
