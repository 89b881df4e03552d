import type { Schemas } from "@kule/contract/schemas";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { Banner, Copyable, FormSeal, PageHead, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";
import { jobCalls } from "./calls.ts";
import { jobErrorText } from "./error-text.ts";
import { actorName, jobDuration, ResourceLink } from "./list-page.tsx";
import { jobTone } from "./phase-states.ts";
import { LiveTimeline } from "./timeline-part.tsx";
import { jobSubject } from "./title.ts";

type Props = {
  readonly view: View;
  readonly job: Schemas["Job"];
  /** Null when it is deleted. */
  readonly notice: string | null;
  readonly problem: string | null;
  readonly idempotencyKey: string;
};

export function JobPage({ view, job, notice, problem, idempotencyKey }: Props) {
  const { messages } = view;
  const subject = jobSubject(messages, job);
  return (
    <Shell
      view={view}
      title={subject}
      section="jobs"
      crumbs={[{ path: "/jobs", text: messages.navigation.jobs }]}
    >
      <PageHead title={subject} api={<ApiDrawer view={view} calls={jobCalls(job)} />} />
      {notice === null ? null : <Banner kind="notice">{notice}</Banner>}
      {problem === null ? null : <Banner kind="problem">{problem}</Banner>}
      <div
        id="job-live"
        class="stack"
        data-poll=""
        hx-get={`/jobs/${job.id}`}
        hx-trigger={job.done ? "refresh" : "every 15s, refresh, job-done from:body"}
        hx-select="#job-live"
        hx-swap="outerMorph"
      >
        <section class="panel">
          <div class="panel-head">
            <h2>{messages.common.status}</h2>
            <Status tone={jobTone(job.status)}>{messages.jobs.status[job.status] ?? job.status}</Status>
          </div>
          <LiveTimeline view={view} job={job} />
          <JobFailure view={view} job={job} />
          <JobActions view={view} job={job} idempotencyKey={idempotencyKey} returnTo={`/jobs/${job.id}`} />
        </section>
        <JobFacts view={view} job={job} />
      </div>
    </Shell>
  );
}

/** Why a job failed, with the code to search for; for operators also in the region's words. */
export function JobFailure({ view, job }: { readonly view: View; readonly job: Schemas["Job"] }) {
  if (job.error === null) return null;
  return (
    <Banner kind="problem">
      <p>{jobErrorText(view.messages, job.error)}</p>
      {job.error.region_message === undefined ? null : (
        <p class="anywhere">
          {view.messages.jobs.inTheRegionsWords}: {job.error.region_message}
        </p>
      )}
      <p>
        <code>{job.error.code}</code>
        {job.error.step === null ? null : <code>{job.error.step}</code>}
      </p>
    </Banner>
  );
}

/** Cancel and retry, where the API would accept them. */
export function JobActions(props: {
  readonly view: View;
  readonly job: Schemas["Job"];
  readonly idempotencyKey: string;
  readonly returnTo: string;
}) {
  const { view, job } = props;
  const { messages, session } = view;
  if (session === null) return null;
  const acts: ("retry" | "cancel")[] = [];
  if (job.retryable && may(session, "job:retry")) acts.push("retry");
  if (job.cancellable && !job.cancel_requested && may(session, "job:cancel")) acts.push("cancel");
  if (acts.length === 0) return null;
  return (
    <div class="acts">
      {acts.map((name) => (
        <form method="post" action={`/jobs/${job.id}/${name}`}>
          <FormSeal view={view} idempotencyKey={`${props.idempotencyKey}-${name}`} />
          <input type="hidden" name="return_to" value={props.returnTo} />
          <button type="submit" class="button" data-kind={name === "retry" ? "primary" : undefined}>
            {messages.jobs[name]}
          </button>
        </form>
      ))}
    </div>
  );
}

function JobFacts({ view, job }: Pick<Props, "view" | "job">) {
  const { messages } = view;
  return (
    <section class="panel">
      <dl class="facts">
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="job-id" text={job.id} />
          </dd>
        </div>
        <div>
          <dt>{messages.jobs.resource}</dt>
          <dd>
            <ResourceLink resource={job.resource} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.region}</dt>
          <dd>{job.region ?? messages.jobs.controlPlane}</dd>
        </div>
        <div>
          <dt>{messages.jobs.requestedBy}</dt>
          <dd>{actorName(view, job.requested_by)}</dd>
        </div>
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={job.created_at} />
          </dd>
        </div>
        <div>
          <dt>{messages.jobs.duration}</dt>
          <dd>{jobDuration(view, job) ?? "–"}</dd>
        </div>
        <div>
          <dt>{messages.errors.requestId}</dt>
          <dd class="mono">{job.request_id}</dd>
        </div>
      </dl>
    </section>
  );
}
