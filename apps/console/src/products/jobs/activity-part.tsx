import type { ApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { attempt } from "../../api.ts";
import { Icon } from "../../layout/icons.tsx";
import { Status } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { jobTone } from "./phase-states.ts";
import { jobSubject } from "./title.ts";

export type Activity = {
  readonly open: readonly Schemas["Job"][];
  /** Whether there are more than these. */
  readonly isMore: boolean;
  /** Jobs that were open at the last poll and have ended. */
  readonly ended: readonly Schemas["Job"][];
};

/** At most so many jobs are named; of more only the count is shown. */
const mostShown = 20;

/**
 * The running jobs of the organisation, and the results of those that ran before; null when the API does not answer.
 */
export async function readActivity(api: ApiClient, known: readonly string[]): Promise<Activity | null> {
  const outcome = await attempt(
    api.GET("/jobs", { params: { query: { status: ["queued", "running"], limit: mostShown } } }),
  );
  if (outcome.kind !== "done") return null;
  const { items: open, next_cursor: next } = outcome.data;
  const missing = known.filter((id) => open.every((job) => job.id !== id));
  const answers = await Promise.all(
    missing.map((id) => attempt(api.GET("/jobs/{job_id}", { params: { path: { job_id: id } } }))),
  );
  return {
    open,
    isMore: next !== null,
    ended: answers.flatMap((each) => (each.kind === "done" && each.data.done ? [each.data] : [])),
  };
}

/** For the rail: the number of running jobs. Beside it the notes that `browser/activity.ts` shows for a while. */
export function ActivityPart({ view, activity }: { readonly view: View; readonly activity: Activity }) {
  const { open, isMore, ended } = activity;
  const text = view.messages.activity;
  const [first] = open;
  const count = `${view.format.number(open.length)}${isMore ? "+" : ""}`;
  return (
    <>
      <a
        class="activity-link"
        href="/jobs"
        data-open={open.map(({ id }) => id).join(" ")}
        data-busy={open.length > 0 ? "" : undefined}
      >
        <span class="activity-count figures">{open.length === 0 ? "" : count}</span>
        <span class="activity-text">
          {open.length === 0 ? text.quiet : text.running(open.length, count)}
          {first === undefined || open.length > 1 ? null : <small>{jobSubject(view.messages, first)}</small>}
        </span>
      </a>
      {ended.map((job) => (
        <div
          class="toast"
          data-tone={jobTone(job.status)}
          data-stays={job.status === "failed" ? "" : undefined}
        >
          <Status tone={jobTone(job.status)}>{sentence(view, job)}</Status>
          <a href={`/jobs/${job.id}`}>{text.look}</a>
          <button type="button" class="toast-close" title={view.messages.search.close}>
            <Icon name="cross" size={14} />
            <span class="visually-hidden">{view.messages.search.close}</span>
          </button>
        </div>
      ))}
    </>
  );
}

function sentence(view: View, job: Schemas["Job"]): string {
  const text = view.messages.activity;
  const name = jobSubject(view.messages, job);
  if (job.status === "failed") return text.failed(name);
  return job.status === "cancelled" ? text.cancelled(name) : text.succeeded(name);
}
