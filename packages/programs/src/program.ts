// A job as four phases: observe what is there, plan what is missing, apply it step by step, verify by observing
// again. Verified means that the plan for what we now see is empty. Resuming is the same thing: run again, and the
// plan holds only what is missing. No list of completed steps is kept or trusted.

import type { JobKind, PayloadOf, Schemas } from "@kule/contract/schemas";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import type { EffectContext, Hypervisor } from "@kule/proxmox/hypervisor";
import type { Runtime } from "@kule/proxmox/runtime";
import type { Edge } from "./edge.ts";
import type { LastLook } from "./errors.ts";
import type { RegionSettings } from "./region-settings.ts";

/** A step is plain data: it can be logged, compared in a test, and carried out again. */
export type Step = { readonly do: string };

/** Everything outside the program: the region, its settings, time. */
export type World = {
  readonly hypervisor: Hypervisor;
  /** Null in a region whose file has none. */
  readonly edge: Edge | null;
  readonly settings: RegionSettings;
  readonly runtime: Runtime;
  /** Opens what was sealed to this region's agent; throws when it was sealed to somebody else. */
  readonly openSecret: (sealed: string, context: string) => string;
};

export type Job<Payload = Schemas["JobPayload"]> = { readonly id: string; readonly payload: Payload };

/** What Verify read back, for the control plane to settle the records and the usage with. */
export type Observed = {
  readonly power_state: "on" | "off" | "unknown";
  readonly node?: string;
  readonly vmid?: number;
  readonly vcpu?: number;
  readonly memory_mb?: number;
  readonly disk_bytes?: number;
  readonly addresses?: readonly string[];
  /** Whether the guest has its public addresses, or takes them up when it boots. */
  readonly public_network?: "applied" | "next_boot";
  /** The payload's filter, which the VM has. */
  readonly filter?: string;
  /** The payload's generation, once the edge has the network as it says. */
  readonly network_generation?: number;
  /** By the interfaces' positions, of a VM that brought its own. */
  readonly macs?: readonly (string | null)[];
  readonly vmid_unusable?: "taken" | "quarantined";
};

export type Program<Kind extends JobKind, Seen, S extends Step> = {
  readonly kind: Kind;
  /** Reads only. Waits, with a limit, for what is still being worked on. */
  observe(job: Job<PayloadOf<Kind>>, world: World, effect: EffectContext): Promise<Seen>;
  /** Pure. Throws Failed when what it sees can never become what is wanted. */
  plan(job: Job<PayloadOf<Kind>>, seen: Seen, world: Pick<World, "settings" | "openSecret">): readonly S[];
  /** One function for each step, checked by the compiler. Each makes its effect happen, or finds it has. */
  readonly apply: {
    readonly [Name in S["do"]]: (
      step: Extract<S, { do: Name }>,
      job: Job<PayloadOf<Kind>>,
      world: World,
      effect: EffectContext,
    ) => Promise<void>;
  };
  observed(job: Job<PayloadOf<Kind>>, seen: Seen): Observed;
  /** From the first of these steps on, cancelling is too late. */
  readonly irreversible?: ReadonlySet<S["do"]>;
  /** Steps whose wait for a task is given up when the job is called off: whoever comes next looks at what became of it. */
  readonly interruptible?: ReadonlySet<S["do"]>;
  /** Reads once, without waiting, what there is when the run did not succeed; null when that cannot be told. */
  lastLook?(job: Job<PayloadOf<Kind>>, world: World, signal?: AbortSignal): Promise<LastLook | null>;
};

/** One line of a job's progress. */
export type StepEvent = {
  readonly phase: Schemas["JobPhase"];
  readonly name: string;
  readonly status: "running" | "succeeded" | "skipped" | "failed";
  readonly message: string | null;
  /** The hypervisor's task. */
  readonly externalRef: string | null;
  /** 0 to 100. */
  readonly progress: number;
  readonly irreversible: boolean;
};

/** Whoever runs a program: the agent, or the worker in direct mode. */
export type Host = {
  /**
   * Tells the control plane and renews the lease. Tries again by itself while the control plane does not answer and
   * the lease lasts; throws StaleLease when it is over or was taken, and Cancelled when the job was called off.
   */
  report(event: StepEvent): Promise<void>;
  readonly lease: {
    /** 1 right after a renewal, 0 at its end. */
    remainingFraction(): number;
  };
  readonly signal?: AbortSignal;
  /** Asked before each effect; what it throws ends the run. The signal also ends calls that are under way. */
  readonly beforeEffect?: () => void;
  /** Asked while something interruptible is waited for: throws Cancelled when the job was called off. */
  readonly throwIfCancelled?: () => void;
  readonly crashPoint?: CrashHook;
};
