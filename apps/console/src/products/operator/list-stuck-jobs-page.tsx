import type { Schemas } from "@kule/contract/schemas";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { jobErrorText } from "../jobs/error-text.ts";
import { jobName } from "../jobs/title.ts";
import { WatchedList } from "./list-watched-page.tsx";
import type { StuckJobsPageProps } from "./props.ts";

export const stuckReasons = [
  "failed",
  "repeating",
  "not_claimed",
  "slow",
  "silent",
] as const satisfies readonly Schemas["StuckReason"][];

const tones = {
  failed: "bad",
  repeating: "warning",
  not_claimed: "warning",
  slow: "busy",
  silent: "bad",
} as const satisfies Record<Schemas["StuckReason"], Tone>;

/** Jobs of all organisations that need an operator to continue. */
export function StuckJobsPage(props: StuckJobsPageProps) {
  const { view, jobs, regions, filter, cursor } = props;
  const text = view.messages.stuckJobs;
  return (
    <WatchedList
      view={view}
      tab="stuckJobs"
      path="/operator/stuck-jobs"
      list="stuck_jobs"
      operation="listStuckJobs"
      text={text}
      regions={regions}
      region={filter.region}
      sorting={{
        name: "reason",
        label: text.reason,
        any: text.allReasons,
        sorts: stuckReasons,
        chosen: filter.reason,
        names: text.reasons,
        hints: text.reasonHints,
        tones,
        meanings: text.more,
      }}
      cursor={cursor}
      next={jobs.next_cursor}
    >
      {jobs.items.length === 0 ? null : <StuckTable {...props} />}
    </WatchedList>
  );
}

function StuckTable({ view, jobs }: StuckJobsPageProps) {
  const { messages } = view;
  const { operator, stuckJobs: text } = messages;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{messages.jobs.job}</th>
          <th scope="col">{text.reason}</th>
          <th scope="col">{text.where}</th>
          <th scope="col">{text.why}</th>
          <th scope="col">{operator.since}</th>
          <td></td>
        </tr>
      </thead>
      <tbody>
        {jobs.items.map((job) => (
          <StuckRow view={view} job={job} />
        ))}
      </tbody>
    </table>
  );
}

function StuckRow({ view, job }: { readonly view: View; readonly job: Schemas["StuckJob"] }) {
  const { messages } = view;
  const { operator, stuckJobs: text } = messages;
  const { resource, organisation } = job;
  return (
    <tr id={job.id} data-tone={tones[job.reason]}>
      <th scope="row">
        {jobName(messages, job)}
        <small class="vm-name">{resource.name ?? resource.id}</small>
      </th>
      <td data-label={text.reason}>
        <Status tone={tones[job.reason]}>{text.reasons[job.reason]}</Status>
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
      <td data-label={text.why}>
        <div class="anywhere">
          {job.error === null ? text.reasonHints[job.reason] : jobErrorText(messages, job.error)}
          {job.error?.region_message === undefined ? null : (
            <div class="hint">
              {messages.jobs.inTheRegionsWords}: {job.error.region_message}
            </div>
          )}
          <div class="hint">
            {job.attempt === 0 ? null : messages.jobs.attempt(job.attempt, job.max_attempts)}
            {job.error === null ? null : (
              <>
                {" · "}
                <code>{job.error.code}</code>
              </>
            )}
          </div>
        </div>
      </td>
      <td data-label={operator.since}>
        <div>
          <When view={view} time={job.since} />
          {job.next_attempt_at === null ? null : (
            <div class="hint">
              {text.again} <When view={view} time={job.next_attempt_at} />
            </div>
          )}
        </div>
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
