import type { Schemas } from "@kule/contract/schemas";
import type { KnownRegion } from "./region-panel.tsx";

export type HealthTone = "good" | "warning" | "bad";

/** The first page of a list, and whether the list is longer than that. */
export type Amount = { readonly count: number; readonly isMore: boolean };

/** What the health page knows; every list is its first page. */
export type Health = {
  readonly regions: readonly KnownRegion[];
  readonly hasMoreRegions: boolean;
  readonly stuckJobs: Schemas["StuckJobList"];
  /** Newest first, whenever they failed. */
  readonly failedJobs: Schemas["OperatorJobList"];
  readonly drift: Schemas["DriftList"];
  readonly invariants: Schemas["InvariantReport"];
  readonly restore: Schemas["RestoreReport"];
};

export type HealthCheck = {
  readonly name:
    | "stuckJobs"
    | "failedJobs"
    | "drift"
    | "restore"
    | "invariants"
    | "invariantsNever"
    | "invariantsStale";
  readonly tone: HealthTone;
  readonly amount: Amount;
  readonly path: string;
};

type RegionTrouble = {
  readonly name: "unreachable" | "degraded" | "full" | "incomplete";
  readonly tone: HealthTone;
  readonly region: Schemas["Region"];
};

const failedWithinMs = 24 * 3600_000;

/** The checks of the whole installation. What failed counts for a day: what still needs somebody is among the stuck jobs. */
export function checksOf(health: Health, now: Date): readonly HealthCheck[] {
  const { stuckJobs, failedJobs, drift, invariants, restore } = health;
  const open = restore.regions.filter(({ state }) => state !== "ended");
  const isBadlyStuck = stuckJobs.items.some(({ reason }) => reason === "failed" || reason === "silent");
  const isMissing = drift.items.some(({ kind }) => kind === "missing");
  const since = now.getTime() - failedWithinMs;
  const recent = failedJobs.items.filter(
    ({ finished_at, created_at }) => Date.parse(finished_at ?? created_at) >= since,
  );
  return [
    check("stuckJobs", "/operator/stuck-jobs", amountOf(stuckJobs), isBadlyStuck ? "bad" : "warning"),
    check(
      "failedJobs",
      "/operator/jobs?status=failed",
      // An older one on the page means that all of the last day are on it.
      {
        count: recent.length,
        isMore: failedJobs.next_cursor !== null && recent.length === failedJobs.items.length,
      },
      "warning",
    ),
    check("drift", "/operator/drift", amountOf(drift), isMissing ? "bad" : "warning"),
    // Most installations never are.
    ...(restore.restore === null
      ? []
      : [
          check(
            "restore",
            "/operator/restore",
            { count: open.length, isMore: false },
            open.some(({ state }) => state === "waiting") ? "bad" : "warning",
          ),
        ]),
    checkOfInvariants(invariants),
  ];
}

/** What is wrong in the regions. A region in maintenance is as an operator wants it. */
export function troublesOf({ regions }: Health): readonly RegionTrouble[] {
  return regions.flatMap(({ region, capacity }): RegionTrouble[] => {
    if (region.status === "unreachable") return [{ name: "unreachable", tone: "bad", region }];
    const isFull = capacity.nodes.length > 0 && memoryOf(capacity).freeMb === 0;
    return [
      ...(region.status === "degraded" ? [{ name: "degraded", tone: "warning", region } as const] : []),
      ...(isFull ? [{ name: "full", tone: "warning", region } as const] : []),
      ...(capacity.last_pass?.complete === false
        ? [{ name: "incomplete", tone: "warning", region } as const]
        : []),
    ];
  });
}

/** The memory of all nodes: what servers may still get, and all of it. */
export function memoryOf({ nodes }: Schemas["RegionCapacity"]): {
  readonly freeMb: number;
  readonly totalMb: number;
} {
  return {
    freeMb: nodes.reduce((sum, { memory_free_mb: free }) => sum + Math.max(0, free), 0),
    totalMb: nodes.reduce((sum, { memory_mb: all }) => sum + all, 0),
  };
}

const severity = { bad: 0, warning: 1, good: 2 } as const;

/** The worst first; of two that are equally bad the order stays. */
export function worstFirst<Item extends { readonly tone: HealthTone }>(items: readonly Item[]): Item[] {
  return items.toSorted((a, b) => severity[a.tone] - severity[b.tone]);
}

function checkOfInvariants(report: Schemas["InvariantReport"]): HealthCheck {
  const path = "/operator/invariants";
  const amount = { count: report.violations_total, isMore: false };
  if (report.violations_total > 0) return { name: "invariants", tone: "bad", amount, path };
  if (report.checked_at === null) return { name: "invariantsNever", tone: "warning", amount, path };
  // A report that is too old proves nothing.
  if (report.stale) return { name: "invariantsStale", tone: "warning", amount, path };
  return { name: "invariants", tone: "good", amount, path };
}

function check(name: HealthCheck["name"], path: string, amount: Amount, tone: HealthTone): HealthCheck {
  return { name, path, amount, tone: amount.count === 0 ? "good" : tone };
}

function amountOf(list: { readonly items: readonly unknown[]; readonly next_cursor: string | null }): Amount {
  return { count: list.items.length, isMore: list.next_cursor !== null };
}
