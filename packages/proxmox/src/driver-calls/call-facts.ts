// The entry of one call in the table of the driver's calls.

import type * as errors from "../errors.ts";

/** How a value is written. A flag is 1 or 0, a list is its key repeated for each entry. */
export type Encoding = "text" | "number" | "flag" | "list";

/** By the names of Proxmox VE 9. The different names of 8 are in `privilege-names.ts`. */
export type Privilege =
  | "Datastore.Allocate"
  | "Datastore.AllocateSpace"
  | "Datastore.Audit"
  | "Pool.Allocate"
  | "Pool.Audit"
  | "SDN.Use"
  | "Sys.Audit"
  | "VM.Allocate"
  | "VM.Audit"
  | "VM.Clone"
  | "VM.Config.CPU"
  | "VM.Config.Cloudinit"
  | "VM.Config.Disk"
  | "VM.Config.HWType"
  | "VM.Config.Memory"
  | "VM.Config.Network"
  | "VM.Config.Options"
  | "VM.Console"
  | "VM.GuestAgent.Unrestricted"
  | "VM.PowerMgmt";

/**
 * The object of a privilege. `guest` is /vms/{vmid}, which a pool's role reaches; `pool` is /pool/{pool};
 * `template` is /vms/{template}; `bridge` is the bridge's path below /sdn/zones/localnetwork; `cluster` is /
 * itself.
 */
export type Scope = "guest" | "template" | "pool" | "storage" | "bridge" | "node" | "cluster";

export type Need = {
  readonly on: Scope;
  readonly privilege: Privilege;
  /**
   * `call`: without it the call is refused. `view`: the answer leaves out what it is about. `withheld`: the
   * token must not have it, and the driver says what an operator does instead.
   */
  readonly for: "call" | "view" | "withheld";
};

export type Parameter = {
  readonly as: Encoding;
  /** Needed when the parameter is sent. */
  readonly needs: readonly Need[];
};

export type ErrorName = Extract<keyof typeof errors, `Proxmox${string}`>;

export type CallFacts = {
  /** By their names in the schema: "net[n]" stands for net0, net1 and so on. Those of the path are among them. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly needs: readonly Need[];
  /** `task` is a UPID, `nothing` is null, `data` is read field by field, `socket` is a websocket. */
  readonly answer: "data" | "task" | "nothing" | "socket";
  /** The refusals that the driver distinguishes: by the answer, or by the end of the task. */
  readonly refusals: readonly ErrorName[];
};
