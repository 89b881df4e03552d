import type { Region } from "../region.ts";
import { isDriveKey } from "../schema/option-keys.ts";
import { splitList } from "../schema/property-schema.ts";
import { cloudInitFiles, isCloudInitProperty } from "./cloud-init.ts";
import { type ConfigDraft, cleanUpPending, draftVolume } from "./config-draft.ts";
import { cloudInitKey, isCdrom, isCloudInit, parseDrive, registerUnused } from "./drives.ts";
import { parseNet } from "./networks.ts";

/** Applied to a running VM at once: they do not touch the QEMU process. */
const FAST =
  /^(description|hookscript|lock|migrate_downtime|migrate_speed|name|onboot|protection|shares|startup|tags|vmstatestorage|cicustom|cipassword|citype|ciuser|ciupgrade|nameserver|searchdomain|sshkeys|ipconfig\d+)$/;

function detach(region: Region, draft: ConfigDraft, key: string, force: boolean): void {
  const value = draft.config[key];
  if (value === undefined) return;
  const drive = parseDrive(key, value);
  delete draft.config[key];
  const volume = draftVolume(region, draft, drive.file);
  if (isCloudInit(drive)) {
    if (volume !== undefined) draft.freed.push(volume.volid);
    draft.drive = null;
    draft.cloudInitChanges = {};
  } else if (!isCdrom(drive)) {
    if (force && volume?.vmid === draft.vm.vmid) draft.freed.push(volume.volid);
    else registerUnused(draft.config, draft.vm, volume);
  }
}

function setDrive(region: Region, draft: ConfigDraft, key: string, value: string): void {
  const before = draft.config[key];
  const sameVolume = before !== undefined && parseDrive(key, before).file === parseDrive(key, value).file;
  if (before !== undefined && !sameVolume) detach(region, draft, key, false);
  draft.config[key] = value;
}

/** Writes the files of the cloud-init drive from the configuration as it is now. */
export function generateCloudInit(draft: ConfigDraft): void {
  if (cloudInitKey(draft.config) === undefined) return;
  draft.drive = cloudInitFiles(draft.config, draft.vm.vmid);
  draft.cloudInitChanges = {};
}

/** Applies everything pending: for a stopped VM, and at every start. */
export function applyPendingCold(region: Region, draft: ConfigDraft): void {
  for (const [key, force] of Object.entries(draft.pendingDelete).sort()) {
    if (isDriveKey(key)) detach(region, draft, key, force);
    delete draft.config[key];
    delete draft.pendingDelete[key];
  }
  cleanUpPending(draft);
  let newDrive = false;
  for (const [key, value] of Object.entries(draft.pending)) {
    if (isDriveKey(key)) {
      setDrive(region, draft, key, value);
      newDrive ||= isCloudInit(parseDrive(key, value));
    } else {
      draft.config[key] = value;
    }
    delete draft.pending[key];
  }
  if (newDrive) generateCloudInit(draft);
}

/** Remembers what the guest still sees on its drive, for GET cloudinit. */
function recordCloudInitChange(draft: ConfigDraft, key: string, before: string | undefined): void {
  if (!isCloudInitProperty(key) || cloudInitKey(draft.config) === undefined) return;
  const added = new Set(splitList(draft.cloudInitChanges.added ?? ""));
  const now = draft.config[key];
  const recorded = draft.cloudInitChanges[key];
  if (now === before) return;
  if (recorded !== undefined) {
    if (now === recorded) delete draft.cloudInitChanges[key];
  } else if (added.has(key)) {
    if (now === undefined) added.delete(key);
  } else if (before === undefined) {
    added.add(key);
  } else {
    draft.cloudInitChanges[key] = before;
  }
  if (added.size > 0) draft.cloudInitChanges.added = [...added].sort().join(",");
  else delete draft.cloudInitChanges.added;
}

function hotplugFeatures(config: Readonly<Record<string, string>>): Set<string> {
  const value = config.hotplug ?? "1";
  if (value === "0") return new Set();
  return new Set(splitList(value === "1" ? "network,disk,usb" : value));
}

/** "skip" keeps the change pending, silently; a text is a hotplug problem. */
type Outcome = "done" | "skip" | { readonly problem: string };

function plugNet(
  region: Region,
  draft: ConfigDraft,
  features: Set<string>,
  key: string,
  value: string,
): Outcome {
  const next = parseNet(value);
  const before = draft.config[key] === undefined ? undefined : parseNet(draft.config[key]);
  const bridge = next.bridge;
  const bridgeProblem: Outcome | undefined =
    bridge !== undefined && region.store.get("bridge", bridge) === undefined
      ? { problem: `bridge '${bridge}' does not exist` }
      : undefined;
  if (before !== undefined) {
    const replug =
      ["model", "macaddr", "queues", "mtu"].some((name) => before[name] !== next[name]) ||
      next.bridge === undefined ||
      before.bridge === undefined;
    // Bridge, VLAN, firewall, rate and link state change on the living device, hotplug or not.
    if (!replug) return bridgeProblem ?? "done";
  }
  if (!features.has("network")) return "skip";
  return bridgeProblem ?? "done";
}

function plugDrive(draft: ConfigDraft, features: Set<string>, key: string, value: string): Outcome {
  if (key === "efidisk0" || key === "tpmstate0") return "skip";
  const next = parseDrive(key, value);
  if (isCloudInit(next)) return draft.config[key] === undefined ? "skip" : "done";
  const before = draft.config[key];
  if (before !== undefined) {
    const old = parseDrive(key, before);
    // A CD-ROM's medium and a disk's I/O limits change live.
    if (isCdrom(old) && isCdrom(next)) return "done";
    if (old.file === next.file) {
      const fixed = ["discard", "iothread", "queues", "cache", "aio", "ssd", "ro", "serial", "scsiblock"];
      return fixed.some((name) => old[name] !== next[name]) ? "skip" : "done";
    }
  }
  if (!features.has("disk") || /^(ide|sata)/.test(key)) return "skip";
  return "done";
}

function plug(
  region: Region,
  draft: ConfigDraft,
  features: Set<string>,
  key: string,
  value: string,
): Outcome {
  if (/^net\d+$/.test(key)) return plugNet(region, draft, features, key, value);
  if (isDriveKey(key)) return plugDrive(draft, features, key, value);
  if (key === "vcpus") return features.has("cpu") ? "done" : "skip";
  if (key === "memory") return features.has("memory") && draft.config.numa === "1" ? "done" : "skip";
  if (key === "balloon") return ((draft.config.balloon ?? "1") === "0") === (value === "0") ? "done" : "skip";
  if (key === "hotplug") return /cpu|memory/.test(`${value} ${draft.config.hotplug ?? ""}`) ? "skip" : "done";
  if (key === "tablet" || /^usb\d+$/.test(key)) return features.has("usb") ? "done" : "skip";
  // cores, sockets, cpu, scsihw, vga, serial, machine, agent, boot, ...: at the next cold start.
  return key === "cpuunits" || key === "cpulimit" ? "done" : "skip";
}

function unplug(draft: ConfigDraft, features: Set<string>, key: string): Outcome {
  if (FAST.test(key)) return "done";
  if (/^net\d+$/.test(key)) return features.has("network") ? "done" : "skip";
  if (isDriveKey(key))
    return features.has("disk") && !/^(efidisk|ide|sata|tpmstate)/.test(key) ? "done" : "skip";
  if (key === "balloon") return draft.config.balloon === "0" ? "skip" : "done";
  if (key === "hotplug") return /cpu|memory/.test(draft.config.hotplug ?? "") ? "skip" : "done";
  if (key === "vcpus") return features.has("cpu") ? "done" : "skip";
  if (key === "tablet" || /^usb\d+$/.test(key)) return features.has("usb") ? "done" : "skip";
  return key === "cpuunits" || key === "cpulimit" ? "done" : "skip";
}

/**
 * Applies to a running VM what can be applied; the rest stays pending without an error.
 *
 * @param selection keys this call touched; others keep waiting
 * @returns hotplug problems by key
 */
export function applyPendingHot(
  region: Region,
  draft: ConfigDraft,
  selection: ReadonlySet<string>,
): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const [key, value] of Object.entries(draft.pending)) {
    if (!FAST.test(key)) continue;
    const before = draft.config[key];
    delete draft.pending[key];
    draft.config[key] = value;
    recordCloudInitChange(draft, key, before);
  }
  const features = hotplugFeatures(draft.config);
  for (const key of Object.keys(draft.pendingDelete).sort()) {
    if (!selection.has(key)) continue;
    if (unplug(draft, features, key) !== "done") continue;
    const before = draft.config[key];
    if (isDriveKey(key)) detach(region, draft, key, draft.pendingDelete[key] === true);
    delete draft.config[key];
    delete draft.pendingDelete[key];
    recordCloudInitChange(draft, key, before);
  }
  for (const [key, value] of Object.entries(draft.pending)) {
    if (!selection.has(key)) continue;
    const outcome = plug(region, draft, features, key, value);
    if (outcome === "skip") continue;
    if (outcome !== "done") {
      errors[key] = `hotplug problem - ${outcome.problem}\n`;
      continue;
    }
    const before = draft.config[key];
    if (isDriveKey(key)) setDrive(region, draft, key, value);
    else draft.config[key] = value;
    delete draft.pending[key];
    recordCloudInitChange(draft, key, before);
  }
  return errors;
}
