// The hypervisor interface of job programs. Programs use nothing of the API behind it.

import type { AdoptionSighting } from "./adoption.ts";
import type { GuestCommand, GuestEnd, GuestInterface } from "./guest-agent.ts";
import type { VmMarker } from "./marker.ts";
import type { DesiredFirewall, SeenFirewall } from "./vm-firewall.ts";

/** The owner that the VM at a VMID must have: the marker must name this server in this region. */
export type Owner = { readonly serverId: string; readonly region: string };

export type Template = { readonly vmid: number; readonly node: string };

export type Vm = {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | null;
  readonly marker: VmMarker;
  /** Lower case, sorted. */
  readonly tags: readonly string[];
  readonly pool: string | null;
  /** "paused" is anything that is neither running nor stopped for the guest: paused, prelaunch, io-error. */
  readonly power: "running" | "stopped" | "paused";
  /** Which process the guest runs in, with its node; another one after every cold start. Null when there is none. */
  readonly process: string | null;
  readonly highlyAvailable: boolean;
  /** The config as it will be after the next start. Secrets read as a mask. */
  readonly config: Readonly<Record<string, string>>;
  /** Keys whose change waits for a stop and start. */
  readonly pendingKeys: readonly string[];
  readonly digest: string;
};

export type RunningTask = { readonly upid: string; readonly type: string };

export type VmSighting =
  | { readonly state: "absent" }
  /** Locked, or one of our tasks still works on it. A clone's lock without a task is a clone that died. */
  | {
      readonly state: "busy";
      readonly node: string;
      readonly lock: string | null;
      readonly task: RunningTask | null;
    }
  /** Not ours, or not recognisable as ours, or hidden from our token. Never changed. */
  | { readonly state: "foreign"; readonly node: string | null; readonly why: string }
  | { readonly state: "present"; readonly vm: Vm };

/** Callbacks of a program for a call that changes something. */
export type EffectContext = {
  readonly signal?: AbortSignal | undefined;
  /**
   * The job that makes the change: recorded on the VM with every change of its config, so that no config ever
   * becomes equal to an earlier one.
   */
  readonly jobId: string;
  /** Awaited before each changing call. What it throws prevents the call. */
  beforeCall(): Promise<void>;
  /**
   * Awaited between a last observation, which may have taken long, and the changing call that `beforeCall`
   * has allowed.
   */
  afterObservation(): Promise<void>;
  /** Awaited when the answer is here, before it is read. */
  answered(): Promise<void>;
  /** Awaited with the task's UPID before it is waited for, so that it can be recorded. */
  taskStarted(upid: string): Promise<void>;
  /** Awaited between two polls of a running task. What it throws ends the wait, not the task. */
  stillRunning(milliseconds: number): Promise<void>;
  /** A success with a message for operators: the log of a task that ended with warnings. */
  note(text: string): void;
};

export type CloneRequest = {
  readonly template: Template;
  readonly vmid: number;
  readonly name: string;
  /** Contains the marker's line. */
  readonly description: string;
  readonly pool: string;
  /** Null leaves the disks where the template's are; only a full clone may have another storage. */
  readonly storage: string | null;
  readonly full: boolean;
  readonly targetNode?: string;
};

/** The marks by which a VM is recognised as a server's. `description` contains the marker's line. */
export type AdoptionMarks = {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
};

/**
 * Keys to their values; null means that the key must be absent. Indexed keys (net0) stand for all their
 * family.
 */
export type DesiredConfig = Readonly<Record<string, string | null>>;

export type ConfigureRequest = {
  readonly desired: DesiredConfig;
  /** Send secrets too, which cannot be compared since they read as a mask. */
  readonly rewriteSecrets: boolean;
};

/**
 * Every changing call re-reads the VM and throws ProxmoxNotOurs unless its marker names the owner. Each throws a
 * ProxmoxError whose `outcome` says whether something may have changed.
 */
export type Hypervisor = {
  /** `templateVmid` is what the VM may be in the middle of being cloned from. */
  findVm(vmid: number, owner: Owner, templateVmid?: number, signal?: AbortSignal): Promise<VmSighting>;
  /** Where the template is; null when there is none, or it is no template. */
  findTemplate(vmid: number, signal?: AbortSignal): Promise<Template | null>;
  /** Waits for a task that was started earlier; the next observation shows its failure. */
  waitForTask(upid: string, effect: EffectContext): Promise<void>;
  poolExists(pool: string, signal?: AbortSignal): Promise<boolean>;
  ensurePool(pool: string, comment: string, effect: EffectContext): Promise<void>;
  /** Adds the VM to the pool, which exists, and removes it from its present one. */
  joinPool(vmid: number, owner: Owner, pool: string, effect: EffectContext): Promise<void>;
  /** Does nothing to a VM that is not in the pool. */
  leavePool(vmid: number, owner: Owner, pool: string, effect: EffectContext): Promise<void>;
  clone(request: CloneRequest, effect: EffectContext): Promise<void>;
  configure(vmid: number, owner: Owner, request: ConfigureRequest, effect: EffectContext): Promise<void>;
  readFirewall(vm: Vm, signal?: AbortSignal): Promise<SeenFirewall>;
  setFirewall(vmid: number, owner: Owner, desired: DesiredFirewall, effect: EffectContext): Promise<void>;
  /** The interfaces of the running guest; null when no guest agent answers. */
  guestInterfaces(
    vm: Pick<Vm, "vmid" | "node">,
    signal?: AbortSignal,
  ): Promise<readonly GuestInterface[] | null>;
  /** Runs a program in the guest, also while a task has locked its VM; answers how it ended, or null when no agent runs it. */
  runInGuest(
    vmid: number,
    owner: Owner,
    command: GuestCommand,
    effect: EffectContext,
  ): Promise<GuestEnd | null>;
  /** As runInGuest, for a program that changes nothing. */
  lookInGuest(
    vmid: number,
    owner: Owner,
    command: GuestCommand,
    signal?: AbortSignal,
  ): Promise<GuestEnd | null>;
  /** Keys of the config that the cloud-init drive of a running guest does not contain yet. */
  staleCloudInitKeys(vm: Pick<Vm, "vmid" | "node">, signal?: AbortSignal): Promise<readonly string[]>;
  /** Writes a new cloud-init drive, for the guest to read at its next boot. */
  writeCloudInit(vmid: number, owner: Owner, effect: EffectContext): Promise<void>;
  /** `bytes` is the size wanted, never the growth. */
  resizeDisk(vmid: number, owner: Owner, disk: string, bytes: number, effect: EffectContext): Promise<void>;
  start(vmid: number, owner: Owner, effect: EffectContext): Promise<void>;
  /** Power off at once. With `process`, only that one: a guest that was started since is left alone. */
  stop(vmid: number, owner: Owner, effect: EffectContext, process?: string | null): Promise<void>;
  /** Asks the guest; with `force`, powers off when it has not shut down in time. `process` as for stop. */
  shutdown(
    vmid: number,
    owner: Owner,
    how: { timeoutSeconds: number; force: boolean; process?: string | null },
    effect: EffectContext,
  ): Promise<void>;
  /** The last reset that succeeded, by its task; null when none is known. */
  lastReset(vm: Pick<Vm, "vmid" | "node">, signal?: AbortSignal): Promise<string | null>;
  /** The guest starts again in the same process. Does nothing when a reset has succeeded after `after`. */
  reset(vmid: number, owner: Owner, after: string | null, effect: EffectContext): Promise<void>;
  /** A VM without a marker, or with the owner's: to be adopted. */
  findForAdoption(vmid: number, owner: Owner, signal?: AbortSignal): Promise<AdoptionSighting>;
  /** Writes the marks of the owner on it, after checking again that it has no others. */
  adopt(vmid: number, owner: Owner, marks: AdoptionMarks, effect: EffectContext): Promise<void>;
  /** Removes the owner's marks from a VM that Kule gives up; does nothing to one without them. */
  unmark(
    vmid: number,
    owner: Owner,
    marks: Omit<AdoptionMarks, "name">,
    effect: EffectContext,
  ): Promise<void>;
  /** Deletes a stopped, unprotected VM and its disks; not one that the job `exceptMadeBy` has created. */
  destroy(vmid: number, owner: Owner, effect: EffectContext, exceptMadeBy?: string): Promise<void>;
  /** Sets the password of a user of the running guest, as a crypt hash if `crypted`. */
  setGuestPassword(
    vmid: number,
    owner: Owner,
    user: { readonly name: string; readonly password: string; readonly crypted: boolean },
    effect: EffectContext,
  ): Promise<void>;
  /** The guest's hostname; null when no agent in it answers. */
  guestHostName(vm: Pick<Vm, "vmid" | "node">, signal?: AbortSignal): Promise<string | null>;
  /** Sets a Linux guest's hostname. False when it refused. */
  setGuestHostName(vmid: number, owner: Owner, name: string, effect: EffectContext): Promise<boolean>;
  /** Volumes that carry the VMID although no VM has it. */
  leftoverVolumes(vmid: number, signal?: AbortSignal): Promise<readonly LeftoverVolume[]>;
  freeVolume(vmid: number, volume: LeftoverVolume, effect: EffectContext): Promise<void>;
  /** Tasks of our token that are running anywhere in the cluster. */
  activeTasks(signal?: AbortSignal): Promise<readonly RunningTask[]>;
};

export type LeftoverVolume = {
  readonly node: string;
  readonly storage: string;
  readonly volume: string;
  readonly bytes: number;
};
