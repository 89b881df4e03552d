import type { Schemas } from "@kule/contract/schemas";
import type { Tone } from "../../layout/parts.tsx";

type Job = Schemas["Job"];

export const phases = [
  "observe",
  "plan",
  "apply",
  "verify",
] as const satisfies readonly Schemas["JobPhase"][];

export type PhaseState = "open" | "busy" | "done" | "failed" | "stopped";

/** How far each of the four phases is. */
export function phaseStates(
  job: Pick<Job, "status" | "phase">,
): Readonly<Record<Schemas["JobPhase"], PhaseState>> {
  const reached = job.phase === null ? -1 : phases.indexOf(job.phase);
  const state = (index: number): PhaseState => {
    if (job.status === "succeeded" || index < reached) return "done";
    if (index > reached) return "open";
    if (job.status === "failed") return "failed";
    if (job.status === "cancelled") return "stopped";
    return job.status === "queued" ? "open" : "busy";
  };
  return { observe: state(0), plan: state(1), apply: state(2), verify: state(3) };
}

/** The steps of the newest attempt that has any, by phase in the order they were done. */
export function stepsByPhase(
  job: Pick<Job, "steps">,
): ReadonlyMap<Schemas["JobPhase"], readonly Schemas["JobStep"][]> {
  const newest = Math.max(...job.steps.map(({ attempt }) => attempt));
  const steps = job.steps.filter(({ attempt }) => attempt === newest).toSorted((a, b) => a.seq - b.seq);
  return Map.groupBy(steps, ({ phase }) => phase);
}

const tones: Readonly<Record<Schemas["JobStatus"], Tone>> = {
  queued: "idle",
  running: "busy",
  succeeded: "good",
  failed: "bad",
  cancelled: "warning",
};

/** How a job's status looks; one that this console does not know yet looks busy until the job is done. */
export function jobTone(status: Schemas["JobStatus"]): Tone {
  return tones[status] ?? "busy";
}
