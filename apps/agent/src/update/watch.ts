// Whether a new version that runs has proven itself. A control plane that cannot be reached is nobody's fault as long as the old
// version cannot reach it either: then it is neither blessed nor taken back.

import type { WatchEnd } from "./next-step.ts";

export type ServiceSight =
  | { readonly kind: "running"; readonly pid: number }
  /** It has ended by itself, or systemd has started it again. */
  | { readonly kind: "crashed"; readonly how: string }
  /** By an operator: no crash. */
  | { readonly kind: "stopped" };

export type Sight = {
  /** By the machine's uptime. */
  readonly uptimeMs: number;
  readonly service: ServiceSight;
  /** What the process that runs says of itself; null as long as it says nothing. */
  readonly says: {
    readonly version: string;
    readonly healthAccepted: boolean;
    readonly claimAnswered: boolean;
  } | null;
  /** Whether the old version is answered by the control plane; null when it was not asked. */
  readonly oldIsAnswered: boolean | null;
};

export type WatchLimits = {
  /** Until the process says anything. */
  readonly signOfLifeMs: number;
  /** Until the control plane has taken a health report and answered a claim. */
  readonly proofMs: number;
  /** So long it has to run without a crash. */
  readonly probationMs: number;
  /** So long the control plane has to answer the old version before the new one is blamed. */
  readonly reachableMs: number;
  /** From here on the old version is asked as well. */
  readonly askAfterMs: number;
};

export const WATCH_LIMITS: WatchLimits = {
  signOfLifeMs: 30_000,
  proofMs: 90_000,
  probationMs: 180_000,
  reachableMs: 60_000,
  askAfterMs: 15_000,
};

export type WatchMemory = {
  readonly sinceMs: number;
  readonly pid: number | null;
  readonly reachableSinceMs: number | null;
};

export type Judgement = {
  readonly memory: WatchMemory;
  readonly end: WatchEnd | null;
  /** The old version should be asked whether it is answered. */
  readonly askOld: boolean;
};

export const watchSince = (sinceMs: number): WatchMemory => ({ sinceMs, pid: null, reachableSinceMs: null });

export function judge(memory: WatchMemory, sight: Sight, version: string, limits: WatchLimits): Judgement {
  const { service, says, uptimeMs } = sight;
  const bad = (code: string, message: string): Judgement => ({
    memory,
    end: { kind: "bad", code, message },
    askOld: false,
  });
  if (service.kind === "crashed") return bad("crashed", service.how);
  // Its time begins again when it is started again.
  if (service.kind === "stopped") return { memory: watchSince(uptimeMs), end: null, askOld: false };
  const { pid } = service;
  // Another process without a crash: an operator has started it again.
  const sinceMs = memory.pid === null || memory.pid === pid ? memory.sinceMs : uptimeMs;
  const lasted = uptimeMs - sinceMs;
  if (says === null) {
    const seconds = Math.round(limits.signOfLifeMs / 1000);
    if (lasted >= limits.signOfLifeMs)
      return bad("no_sign_of_life", `it runs, and has done nothing within ${seconds} s`);
    return { memory: { ...memory, sinceMs, pid }, end: null, askOld: false };
  }
  if (says.version !== version)
    return bad("another_version", `what runs is ${says.version} and not ${version}`);
  if (says.healthAccepted && says.claimAnswered) {
    const end = lasted >= limits.probationMs ? ({ kind: "proven" } as const) : null;
    return { memory: { sinceMs, pid, reachableSinceMs: null }, end, askOld: false };
  }
  const reachableSinceMs =
    sight.oldIsAnswered === null
      ? memory.reachableSinceMs
      : sight.oldIsAnswered
        ? (memory.reachableSinceMs ?? uptimeMs)
        : null;
  const isBlamed = reachableSinceMs !== null && uptimeMs - reachableSinceMs >= limits.reachableMs;
  if (lasted >= limits.proofMs && isBlamed) {
    const what = says.healthAccepted ? "its claims are not answered" : "its health reports are not taken";
    return bad("not_working", `${what}, and the control plane answers the version before it`);
  }
  return { memory: { sinceMs, pid, reachableSinceMs }, end: null, askOld: lasted >= limits.askAfterMs };
}
