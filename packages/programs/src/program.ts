// A job as four phases: observe the present state, plan what is missing, apply it step by step, verify by
// observing again. Verified means that the plan for what we now see is empty. Resuming is the same: run
// again, and the plan contains only what is missing. No list of completed steps is stored or trusted.

import type { JobKind, PayloadOf, Schemas } from "@kule/contract/schemas";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import type { EffectContext, Hypervisor } from "@kule/proxmox/hypervisor";
import type { Runtime } from "@kule/proxmox/runtime";
import type { JobErrorCode } from "@kule/rules/jobs/region-texts";
import type { Edge } from "./edge.ts";
import type { LastObservation, ObservedLoadBalancer } from "./errors.ts";
import type { RegionSettings } from "./region-settings.ts";

/** A step is plain data: it can be logged, compared in a test, and carried out again. */
export type Step = { readonly do: string };

/** What every program has of the outside. */
export type AnyWorld = { readonly runtime: Runtime };

/** Everything outside the program of a region's job: the region, its settings, time. */
export type World = AnyWorld & {
  readonly hypervisor: Hypervisor;
  /** Null in a region whose file has none. */
  readonly edge: Edge | null;
  readonly settings: RegionSettings;
  /** Opens what was sealed to this region's agent; throws when it was sealed to another key. */
  readonly openSecret: (sealed: string, context: string) => string;
};

export type Job<Payload = Schemas["JobPayload"]> = { readonly id: string; readonly payload: Payload };

/** The observation of Verify, by which the control plane settles the records and the usage. */
export type Observed = {
  readonly power_state: "on" | "off" | "unknown";
  readonly node?: string;
  readonly vmid?: number;
  readonly vcpu?: number;
  readonly memory_mb?: number;
  readonly disk_bytes?: number;
  readonly addresses?: readonly string[];
  /** Whether the guest has its public addresses, or applies them at its next boot. */
  readonly public_network?: "applied" | "next_boot";
  /** The payload's filter, which the VM has. */
  readonly filter?: string;
  /** The payload's generation, once the edge has the network in that state. */
  readonly network_generation?: number;
  /** What the DNS provider has of the domain; the serial is null when it is gone. */
  readonly domain?: {
    readonly generation: number;
    readonly serial: number | null;
    readonly ds: string[];
  };
  /** The private key, sealed to this region's agent, and the request for its certificate in DER and base64. */
  readonly certificate_request?: {
    readonly version: number;
    readonly csr: string;
    readonly sealed_key: string;
    readonly public_key: string;
  };
  readonly load_balancer?: ObservedLoadBalancer;
  /** By the interfaces' positions, of a VM that brought its own. */
  readonly macs?: readonly (string | null)[];
  readonly vmid_unusable?: "taken" | "quarantined";
};

/** What a plan may read of the world: nothing that changes. */
export type PlanWorld<W extends AnyWorld> = Pick<W, Extract<keyof W, "settings" | "openSecret">>;

/** A program of jobs in a region, unless `W` is the world of another place. */
export type Program<Kind extends JobKind, Seen, S extends Step, W extends AnyWorld = World> = {
  readonly kind: Kind;
  /** Reads only. Waits, with a limit, for what is still being worked on. */
  observe(job: Job<PayloadOf<Kind>>, world: W, effect: EffectContext): Promise<Seen>;
  /** Pure. Throws Failed when what it sees can never become what is wanted. */
  plan(job: Job<PayloadOf<Kind>>, seen: Seen, world: PlanWorld<W>): readonly S[];
  /**
   * One function for each step, checked by the compiler. Each makes its effect happen, or finds that it has.
   */
  readonly apply: {
    readonly [Name in S["do"]]: (
      step: Extract<S, { do: Name }>,
      job: Job<PayloadOf<Kind>>,
      world: W,
      effect: EffectContext,
    ) => Promise<void>;
  };
  observed(job: Job<PayloadOf<Kind>>, seen: Seen): Observed;
  /** From the first of these steps on, cancelling is too late. */
  readonly irreversible?: ReadonlySet<S["do"]>;
  /** Steps whose wait for a task is aborted when the job is cancelled: the next run observes the result. */
  readonly interruptible?: ReadonlySet<S["do"]>;
  /**
   * Steps that wait for a guest for minutes: in that time the job does not count towards the agent's
   * concurrency.
   */
  readonly idle?: ReadonlySet<S["do"]>;
  /** The code of a job whose plan is not empty after it was carried out; `not_converged` unless it is given. */
  readonly notConverged?: JobErrorCode;
  /**
   * Reads the present state once, without waiting, when the run did not succeed; null when that cannot be
   * known.
   */
  lastObservation?(
    job: Job<PayloadOf<Kind>>,
    world: W,
    signal?: AbortSignal,
  ): Promise<LastObservation | null>;
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

/** The program's caller: the agent, or the worker in direct mode and for the control plane's own jobs. */
export type Host = {
  /**
   * Reports to the control plane and renews the lease. Retries while the control plane does not answer and
   * the lease lasts; throws StaleLease when it is over or was taken over, and Cancelled when the job was
   * cancelled.
   */
  report(event: StepEvent): Promise<void>;
  readonly lease: {
    /** 1 right after a renewal, 0 at its end. */
    remainingFraction(): number;
  };
  readonly signal?: AbortSignal;
  /** Called before each effect; what it throws ends the run. The signal also aborts running calls. */
  readonly beforeEffect?: () => void;
  /** Called while something interruptible is waited for: throws Cancelled when the job was cancelled. */
  readonly throwIfCancelled?: () => void;
  /** Called with true when an idle step begins, and with false when it ends. */
  readonly idles?: (isIdle: boolean) => void;
  readonly crashPoint?: CrashHook;
};
