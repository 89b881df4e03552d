import type { Schemas } from "@kule/contract/schemas";
import { FormSeal, Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { jobErrorText } from "../jobs/error-text.ts";
import { actorName } from "../jobs/list-page.tsx";
import { jobStatuses } from "../jobs/list-query.ts";
import { jobTone } from "../jobs/phase-states.ts";
import { jobName } from "../jobs/title.ts";
import { WatchedList } from "./list-watched-page.tsx";
import type { OperatorJobsPageProps } from "./props.ts";

const tones = {
  queued: jobTone("queued"),
  running: jobTone("running"),
  succeeded: jobTone("succeeded"),
  failed: jobTone("failed"),
  cancelled: jobTone("cancelled"),
} as const;

/** Jobs of all organisations, newest first. */
export function OperatorJobsPage(props: OperatorJobsPageProps) {
  const { view, jobs, regions, filter, cursor } = props;
  const text = view.messages.operatorJobs;
  return (
    <WatchedList
      view={view}
      tab="jobs"
      path="/operator/jobs"
      list="stuck_jobs"
      operation="listOperatorJobs"
      text={text}
      regions={regions}
      region={filter.region}
      sorting={{
        name: "status",
        label: view.messages.common.status,
        any: text.allStatuses,
        sorts: jobStatuses,
        chosen: filter.status,
        names: text.statuses,
        hints: text.statusHints,
        tones,
        meanings: text.more,
      }}
      cursor={cursor}
      next={jobs.next_cursor}
    >
      {jobs.items.length === 0 ? null : <OperatorJobTable {...props} />}
    </WatchedList>
  );
}

function OperatorJobTable({ view, jobs }: OperatorJobsPageProps) {
  const { messages } = view;
  return (
    <table class="list">
      <caption class="visually-hidden">{messages.operatorJobs.title}</caption>
      <thead>
        <tr>
          <th scope="col">{messages.jobs.job}</th>
          <th scope="col">{messages.common.status}</th>
          <th scope="col">{messages.stuckJobs.where}</th>
          <th scope="col">{messages.jobs.requestedBy}</th>
          <th scope="col">{messages.common.created}</th>
          <td></td>
        </tr>
      </thead>
      <tbody>
        {jobs.items.map((job) => (
          <OperatorJobRow view={view} job={job} />
        ))}
      </tbody>
    </table>
  );
}

function OperatorJobRow({ view, job }: { readonly view: View; readonly job: Schemas["OperatorJob"] }) {
  const { messages } = view;
  const text = messages.stuckJobs;
  const { resource, organisation } = job;
  return (
    <tr id={job.id} data-tone={jobTone(job.status)}>
      <th scope="row">
        {jobName(messages, job)}
        <small class="vm-name">{resource.name ?? resource.id}</small>
      </th>
      <td data-label={messages.common.status}>
        <div class="anywhere">
          <Status tone={jobTone(job.status)}>
            {messages.jobs.status[job.status] ?? job.status}
            {job.status === "running" ? (
              <span class="figures">{view.format.percent(job.progress)}</span>
            ) : null}
          </Status>
          {job.error === null ? null : <div class="hint">{jobErrorText(messages, job.error)}</div>}
        </div>
      </td>
      <td data-label={text.where}>
        <div>
          {organisation.name}
          <div class="hint">
            {job.region ?? messages.jobs.controlPlane}
            {job.agent_name === null ? null : ` · ${job.agent_name}`}
          </div>
        </div>
      </td>
      <td data-label={messages.jobs.requestedBy}>{actorName(view, job.requested_by)}</td>
      <td data-label={messages.common.created}>
        <When view={view} time={job.created_at} />
      </td>
      <td class="row-act">
        <form method="post" action="/organisations">
          <FormSeal view={view} />
          <input type="hidden" name="organisation_id" value={organisation.id} />
          <input type="hidden" name="return_to" value={`/jobs/${job.id}`} />
          <button type="submit" class="button" aria-label={text.openIn(organisation.name)}>
            {text.open}
          </button>
        </form>
      </td>
    </tr>
  );
}
