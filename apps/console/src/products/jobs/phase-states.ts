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

/** The state of each of the four phases. */
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

/** One line under a phase. */
export type StepLine = Pick<
  Schemas["JobStep"],
  "status" | "started_at" | "finished_at" | "message" | "region_message"
> & {
  readonly text: string;
};

/**
 * The steps of the newest attempt that has any, by phase, in the order of execution. A step with its phase's name only
 * marks the start of the phase: it is shown for its findings, or when it failed.
 *
 * @param names of steps, in the page's language
 */
export function linesByPhase(
  job: Pick<Job, "steps">,
  names: Readonly<Record<string, string>>,
): ReadonlyMap<Schemas["JobPhase"], readonly StepLine[]> {
  const nameOf = (name: string) =>
    (Object.hasOwn(names, name) ? names[name] : undefined) ?? name.replaceAll("_", " ");
  // The findings of a plan are the names of its steps.
  const namesIn = (message: string) => message.split(", ").map(nameOf).join(", ");
  const lines = new Map<Schemas["JobPhase"], StepLine[]>();
  for (const [phase, steps] of stepsByPhase(job)) {
    const shown = steps.flatMap((step): StepLine[] => {
      if (step.name !== phase) return [{ ...step, text: nameOf(step.name) }];
      if (step.message !== null) return [{ ...step, text: namesIn(step.message), message: null }];
      return step.status === "failed" ? [{ ...step, text: nameOf(step.name) }] : [];
    });
    lines.set(phase, shown);
  }
  return lines;
}

function stepsByPhase(
  job: Pick<Job, "steps">,
): ReadonlyMap<Schemas["JobPhase"], readonly Schemas["JobStep"][]> {
  const newest = job.steps.reduce((highest, { attempt }) => Math.max(highest, attempt), 0);
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

/** The tone of a job's status; a status that this console does not know is busy until the job is done. */
export function jobTone(status: Schemas["JobStatus"]): Tone {
  return tones[status] ?? "busy";
}
