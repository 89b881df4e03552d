import { failure, permissionDenied } from "../api-error.ts";
import type { Region } from "../region.ts";
import { isDriveKey } from "../schema/option-keys.ts";

const cpu = /^(cores|cpu|runningcpu|cpulimit|cpuunits|numa|smp|sockets|vcpus|numa\d+)$/;
const memory = /^(memory|balloon|shares|allow-ksm)$/;
const hardware = /^(acpi|hotplug|kvm|machine|runningmachine|scsihw|smbios1|tablet|vga|watchdog|audio0|rng0)$/;
const general =
  /^(agent|autostart|bios|description|keyboard|localtime|migrate_downtime|migrate_speed|name|onboot|ostype|protection|reboot|startdate|startup|tdf|template)$/;
const disk = /^(boot|bootdisk|vmstatestorage)$/;
const cloudInit =
  /^(cicustom|cipassword|citype|ciuser|ciupgrade|nameserver|searchdomain|sshkeys|ipconfig\d+)$/;

type Check = (privileges: readonly string[], any?: boolean) => void;

/**
 * A check against the VM, or against the pool while it is being created in one.
 */
export function vmCheck(region: Region, authUser: string, vmid: number, pool?: string): Check {
  return (privileges, any = false) => {
    const { permissions } = region;
    const onPool = pool === undefined ? undefined : permissions.on(authUser, `/pool/${pool}`);
    if (onPool !== undefined) {
      const held = privileges.filter((privilege) => onPool.has(privilege));
      if (any ? held.length > 0 : held.length === privileges.length) return;
    }
    if (any) permissions.requireAny(authUser, `/vms/${vmid}`, privileges);
    else permissions.require(authUser, `/vms/${vmid}`, ...privileges);
  };
}

/** Throws 403 (or "only root can set") for the first key that the caller may not touch. */
export function requireConfigPrivileges(
  region: Region,
  authUser: string,
  check: Check,
  keys: readonly string[],
): void {
  if (authUser === "root@pam") return;
  for (const key of keys) {
    // Their privilege depends on the value: checked where the value is known.
    if (isDriveKey(key) || key === "cdrom" || key === "tags") continue;
    if (/^(unused|serial|usb|hostpci|virtiofs)\d+$/.test(key)) continue;
    if (cpu.test(key)) check(["VM.Config.CPU"]);
    else if (memory.test(key)) check(["VM.Config.Memory"]);
    else if (hardware.test(key)) check(["VM.Config.HWType"]);
    else if (general.test(key)) {
      check(["VM.Config.Options"]);
      if (key === "startup") region.permissions.require(authUser, "/", "Sys.Modify");
    } else if (key === "freeze") check(["VM.PowerMgmt"]);
    else if (disk.test(key)) check(["VM.Config.Disk"]);
    else if (/^net\d+$/.test(key)) check(["VM.Config.Network"]);
    else if (cloudInit.test(key)) check(["VM.Config.Cloudinit", "VM.Config.Network"], true);
    else throw failure(`only root can set '${key}' config`);
  }
}

/** VM.Allocate on the new number or on the pool it is created in. */
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
