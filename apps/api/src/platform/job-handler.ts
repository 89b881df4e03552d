import type { JobKind, JobPayload } from "@kule/contract/schemas";
import type { Tx } from "./database.ts";
import type { JobRow } from "./jobs.ts";
import type { Settings } from "./settings.ts";

export type PowerState = "on" | "off" | "unknown";

/** How a job has finally ended. */
export type JobEnd = {
  readonly status: "succeeded" | "failed" | "cancelled";
  /** For the user: why it did not succeed. */
  readonly message: string;
  /** Of the error of a job that failed. */
  readonly code: string | null;
  readonly power: PowerState | null;
  /** Whether the guest has its public addresses now, as far as the job was about them. */
  readonly publicNetwork?: "applied" | "next_boot" | null;
  /** The VM's disk as it was observed, as far as the job could have changed it. */
  readonly diskBytes?: number | null;
  /**
   * The id of the filter that the VM has now, as far as the job concerned it and its agent supports filters.
   */
  readonly filter?: string | null;
  /** The generation of the network that the edge has now, as far as the job was about it. */
  readonly networkGeneration?: number | null;
  /** The key and the request that the region has made for a certificate. Nothing of it was checked. */
  readonly certificateRequest?: {
    readonly version: number;
    readonly csr: string;
    readonly sealed_key: string;
    readonly public_key: string;
  } | null;
  /** What the DNS provider has of the domain now, as far as the job was about it. The serial is null when it is gone. */
  readonly domain?: {
    readonly generation: number;
    readonly serial: number | null;
    readonly ds: readonly string[];
  } | null;
  /** What the machines of the load balancer have now, as far as the job was about it. */
  readonly loadBalancer?: {
    readonly generation: number;
    readonly machines: readonly {
      readonly slot: 1 | 2;
      readonly outcome: "applied" | "refused" | "silent";
      readonly generation: number | null;
    }[];
  } | null;
};

/**
 * How a product renders and settles its jobs. One for each type of resource; the queue has no other knowledge
 * of products.
 */
export type JobHandler = {
  /** The kinds that it can render and settle: no other kind is assigned. */
  readonly kinds: readonly JobKind[];
  /** Locks the resource's row: always before any of its jobs' rows. */
  lockResource(tx: Tx, job: Pick<JobRow, "organisation_id" | "resource_id">): Promise<void>;
  /** Everything the agent needs, from what is wanted now. */
  renderPayload(tx: Tx, job: JobRow): Promise<JobPayload>;
  /** Writes what the end of the job means for the resource, its allocations and its usage. */
  settle(tx: Tx, job: JobRow, end: JobEnd, settings: Settings): Promise<void>;
  /** Ends a job of the resource that waits and is superseded by this one, which is about to be tried again. */
  preempt(tx: Tx, job: JobRow): Promise<void>;
  /**
   * Writes what it means for the resource that an ended job of it waits again.
   *
   * @param ended the job as it had ended
   * @throws Conflict when what it needs is not there any more
   */
  retried(tx: Tx, job: JobRow, ended: JobRow): Promise<void>;
  /**
   * Allocates another VM number to the resource, because its present one is unusable.
   *
   * @returns false when there is none left
   */
  replaceVmid(tx: Tx, job: JobRow, why: "taken" | "quarantined"): Promise<boolean>;
};

/** The handlers by the jobs' resource_type. */
export type JobHandlers = { readonly [resourceType: string]: JobHandler };

/** @throws Error for a resource type that no product of this build has */
export function handlerOf(handlers: JobHandlers, job: Pick<JobRow, "resource_type">): JobHandler {
  const handler = handlers[job.resource_type];
  if (handler === undefined) throw new Error(`no product settles jobs of ${job.resource_type}`);
  return handler;
}

/** All kinds of job that this build can assign. */
export function kindsOf(handlers: JobHandlers): ReadonlySet<string> {
  return new Set(Object.values(handlers).flatMap(({ kinds }) => kinds));
}
