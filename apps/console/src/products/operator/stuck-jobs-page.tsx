import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { EmptyState, FormSeal, PageHead, Pages, Status, type Tone, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

export type StuckJobsPageProps = {
  readonly view: View;
  readonly jobs: Schemas["StuckJobList"];
  readonly regions: readonly Schemas["Region"][];
  readonly filter: { readonly region: string; readonly reason: Schemas["StuckReason"] | "" };
  readonly cursor: string | undefined;
};

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

/** Jobs of all organisations that do not go on by themselves. */
export function StuckJobsPage(props: StuckJobsPageProps) {
  const { view, jobs, filter, cursor } = props;
  const { operator, stuckJobs: text } = view.messages;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value !== "") query.set(name, value);
  return (
    <Shell view={view} title={text.title} section="operator">
      <OperatorTabs view={view} current="stuckJobs" />
      <PageHead title={text.title} lead={text.lead} />
      <Filters {...props} />
      <div
        id="stuck-live"
        class="stack"
        data-poll=""
        hx-get={view.path}
        hx-trigger="every 10s, refresh"
        hx-select="#stuck-live"
        hx-swap="outerMorph"
      >
        {jobs.items.length > 0 ? (
          <StuckTable {...props} />
        ) : query.size === 0 ? (
          <EmptyState title={text.none} hint={text.noneHint} />
        ) : (
          <EmptyState title={text.noMatch} hint={text.noMatchHint}>
            <a class="button" href="/operator/stuck-jobs">
              {operator.clear}
            </a>
          </EmptyState>
        )}
        <Pages
          view={view}
          base="/operator/stuck-jobs"
          query={query}
          cursor={cursor}
          next={jobs.next_cursor}
        />
      </div>
      <details class="add-inline">
        <summary>{text.more}</summary>
        <dl class="kinds">
          {stuckReasons.map((reason) => (
            <div>
              <dt>
                <Status tone={tones[reason]}>{text.reasons[reason]}</Status>
              </dt>
              <dd>{text.reasonHints[reason]}</dd>
            </div>
          ))}
        </dl>
      </details>
      <ApiCall view={view} id="stuck-call" operation="listStuckJobs" query={Object.fromEntries(query)} />
    </Shell>
  );
}

function Filters({ view, regions, filter }: StuckJobsPageProps) {
  const { messages } = view;
  const { operator, stuckJobs: text } = messages;
  return (
    <form class="filters" method="get" action="/operator/stuck-jobs">
      <label>
        <span class="visually-hidden">{messages.common.region}</span>
        <select name="region">
          <option value="">{operator.allRegions}</option>
          {regions.map(({ slug, name }) => (
            <option value={slug} selected={filter.region === slug}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="visually-hidden">{text.reason}</span>
        <select name="reason">
          <option value="">{text.allReasons}</option>
          {stuckReasons.map((reason) => (
            <option value={reason} selected={filter.reason === reason}>
              {text.reasons[reason]}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" class="button">
        {messages.common.apply}
      </button>
    </form>
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
        {messages.jobs.kind[job.kind] ?? job.kind}
        <small class="vm-name">{resource.name ?? resource.id}</small>
      </th>
      <td data-label={text.reason}>
        <Status tone={tones[job.reason]}>{text.reasons[job.reason]}</Status>
      </td>
      <td data-label={text.where}>
        <div>
          {organisation.name}
          <div class="hint">
            {job.region}
            {job.agent_name === null ? null : ` · ${job.agent_name}`}
          </div>
        </div>
      </td>
      <td data-label={text.why}>
        <div class="anywhere">
          {job.error === null ? text.reasonHints[job.reason] : job.error.message}
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
