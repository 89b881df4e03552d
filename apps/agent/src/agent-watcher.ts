import type { Schemas } from "@kule/contract/schemas";

/** Told what an agent does, so that it can be shown. It must not throw. */
export type AgentWatcher = {
  /** @param trouble why it cannot be worked with; null when it took the call */
  controlPlaneAnswered(trouble: string | null): void;
  jobClaimed(id: string, kind: string): void;
  stepBegan(jobId: string, step: string): void;
  jobGone(id: string): void;
  healthReported(report: HealthSeen): void;
  updateChanged(update: UpdateSeen): void;
};

export type HealthSeen = {
  /** The region in words. */
  readonly region: string;
  /** Why the report was not delivered; null when it was. */
  readonly undelivered: string | null;
  /** Whether the control plane seals secrets to this agent's key; null when it did not say. */
  readonly keyUse: "in_use" | "waits_for_approval" | null;
};

export type UpdateSeen = {
  /** Why this agent is not updated by itself; null when it is. */
  readonly hindrance: string | null;
  /** The version that it is to have; null when it is to stay as it is. */
  readonly wanted: string | null;
  /** Its last update, or the one that it is at. */
  readonly progress: Schemas["AgentUpdate"] | null;
};

export const unwatched: AgentWatcher = {
  controlPlaneAnswered() {},
  jobClaimed() {},
  stepBegan() {},
  jobGone() {},
  healthReported() {},
  updateChanged() {},
};
