import type { ProxmoxVersion } from "../schema/api-schema.ts";
import { AGENT_ROLES } from "./generated/agent-roles.ts";

const COMMON: readonly string[] = [
  "Datastore.Allocate",
  "Datastore.AllocateSpace",
  "Datastore.AllocateTemplate",
  "Datastore.Audit",
  "Group.Allocate",
  "Mapping.Audit",
  "Mapping.Modify",
  "Mapping.Use",
  "Permissions.Modify",
  "Pool.Allocate",
  "Pool.Audit",
  "Realm.Allocate",
  "Realm.AllocateUser",
  "SDN.Allocate",
  "SDN.Audit",
  "SDN.Use",
  "Sys.AccessNetwork",
  "Sys.Audit",
  "Sys.Console",
  "Sys.Incoming",
  "Sys.Modify",
  "Sys.PowerMgmt",
  "Sys.Syslog",
  "User.Modify",
  "VM.Allocate",
  "VM.Audit",
  "VM.Backup",
  "VM.Clone",
  "VM.Config.CDROM",
  "VM.Config.CPU",
  "VM.Config.Cloudinit",
  "VM.Config.Disk",
  "VM.Config.HWType",
  "VM.Config.Memory",
  "VM.Config.Network",
  "VM.Config.Options",
  "VM.Console",
  "VM.Migrate",
  "VM.PowerMgmt",
  "VM.Snapshot",
  "VM.Snapshot.Rollback",
];
const ONLY_8 = ["VM.Monitor"];
const ONLY_9 = [
  "VM.GuestAgent.Audit",
  "VM.GuestAgent.FileRead",
  "VM.GuestAgent.FileSystemMgmt",
  "VM.GuestAgent.FileWrite",
  "VM.GuestAgent.Unrestricted",
  "VM.Replicate",
];

/** Every privilege that exists in this version. */
export function allPrivileges(version: ProxmoxVersion): string[] {
  return [...COMMON, ...(version.startsWith("8") ? ONLY_8 : ONLY_9)].sort();
}

/** The roles of a region's agent: generated from the calls that the driver can make, in packages/proxmox. */
export function agentRoles(version: ProxmoxVersion): Readonly<Record<string, readonly string[]>> {
  return AGENT_ROLES[version.startsWith("8") ? 8 : 9];
}
