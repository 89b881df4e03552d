import type { Schemas } from "@kule/contract/schemas";
import { Icon, type IconName } from "../../layout/icons.tsx";
import { When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { linesByPhase, type PhaseState, phaseStates, phases, type StepLine } from "./phase-states.ts";

type Job = Schemas["Job"];

/**
 * A job's phases and steps, drawn as a tower with a floor for each finished phase. While the job is open the element
 * follows its event stream.
 */
export function LiveTimeline({ view, job }: { readonly view: View; readonly job: Job }) {
  const stream = job.done
    ? {}
    : {
        "hx-sse:connect": `/jobs/${job.id}/events`,
        "hx-sse:close": "job-done",
        "hx-swap": "innerMorph",
      };
  return (
    <div id={`job-${job.id}`} class="live-job" {...stream}>
      <Timeline view={view} job={job} />
    </div>
  );
}

/** The content of an event of the stream: the inside of `LiveTimeline`. */
export function Timeline({ view, job }: { readonly view: View; readonly job: Job }) {
  const { messages } = view;
  const states = phaseStates(job);
  const steps = linesByPhase(job, messages.jobSteps);
  return (
    <div class="timeline" data-status={job.status}>
      <Tower states={states} finished={job.status === "succeeded"} />
      <div class="timeline-text">
        <div class="timeline-head">
          <progress
            value={job.status === "succeeded" ? 100 : job.progress}
            max={100}
            aria-label={messages.jobs.progress}
          />
          <p class="hint" aria-live="polite">
            <JobLine view={view} job={job} />
          </p>
        </div>
        <ol class="phases">
          {phases.map((phase) => (
            <li class="phase" data-state={states[phase]}>
              <p class="phase-name">
                <strong>{messages.jobs.phase[phase]}</strong>
                <span class="hint">{messages.jobs.phaseHint[phase]}</span>
              </p>
              <Steps view={view} steps={steps.get(phase) ?? []} />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

/** The job in one line: what it waits for, its progress or its result. */
function JobLine({ view, job }: { readonly view: View; readonly job: Job }) {
  const { messages, format } = view;
  if (job.cancel_requested && !job.done) return <>{messages.jobs.cancelRequested}</>;
  if (job.next_attempt_at !== null && job.status === "queued")
    return (
      <>
        {messages.jobs.attempt(job.attempt, job.max_attempts)} · {messages.jobs.nextAttempt}{" "}
        <When view={view} time={job.next_attempt_at} />
      </>
    );
  if (job.status === "queued") {
    const waiting = job.region === null ? messages.jobs.waitingForWorker : messages.jobs.waiting;
    return <>{job.queued_behind === null ? waiting : messages.jobs.behind}</>;
  }
  const took =
    job.started_at === null || job.finished_at === null
      ? null
      : format.duration(Date.parse(job.finished_at) - Date.parse(job.started_at));
  return (
    <>
      {messages.jobs.status[job.status] ?? job.status}
      {took === null ? null : ` · ${took}`}
      {job.attempt > 1 ? ` · ${messages.jobs.attempt(job.attempt, job.max_attempts)}` : null}
    </>
  );
}

const stepIcons = {
  running: "dot",
  succeeded: "check",
  skipped: "skip",
  failed: "cross",
} as const satisfies Record<string, IconName>;

function Steps({ view, steps }: { readonly view: View; readonly steps: readonly StepLine[] }) {
  if (steps.length === 0) return null;
  const { messages, format } = view;
  return (
    <ul class="steps">
      {steps.map((step) => (
        <li class="step" data-state={step.status}>
          <Icon name={stepIcons[step.status] ?? "dot"} size={15} />
          <span class="step-name">{step.text}</span>
          <span class="visually-hidden">{messages.jobs.step[step.status]}</span>
          {step.message === null ? null : <span class="step-message">{step.message}</span>}
          {step.region_message == null || step.region_message === step.message ? null : (
            <span class="step-message">
              {messages.jobs.inTheRegionsWords}: {step.region_message}
            </span>
          )}
          {step.finished_at === null ? null : (
            <span class="step-time figures">
              {format.number((Date.parse(step.finished_at) - Date.parse(step.started_at)) / 1000)} s
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

// Floors from the ground up, by their y coordinates.
const floors = { observe: 118, plan: 94, apply: 70, verify: 46 } as const;

function Tower(props: {
  readonly states: Readonly<Record<keyof typeof floors, PhaseState>>;
  readonly finished: boolean;
}) {
  return (
    <svg class="tower" viewBox="0 0 80 150" width="80" height="150" aria-hidden="true">
      <path class="tower-ground" d="M4 142.5h72" />
      {phases.map((phase) => (
        <g class="floor" data-state={props.states[phase]}>
          <path d={`M20 ${floors[phase]}h40v22H20z`} />
          <path class="window" d={`M37 ${floors[phase] + 15}v-5a3 3 0 0 1 6 0v5z`} />
        </g>
      ))}
      <g class="floor" data-state={props.finished ? "done" : "open"}>
        <path d="M14 38h52v6H14z" />
        <path class="roof" d="M40 6 60 36H20z" />
      </g>
    </svg>
  );
}
