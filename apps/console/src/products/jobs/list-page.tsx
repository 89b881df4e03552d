import type { Schemas } from "@kule/contract/schemas";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { NothingMatches } from "../../layout/list-filters.tsx";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { EmptyState, PageHead, Pages, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { isJobListNarrowed, type JobQuery, jobParameters, jobStatuses } from "./list-query.ts";
import { jobTone } from "./phase-states.ts";
import { jobName } from "./title.ts";

type Job = Schemas["Job"];

type Props = {
  readonly view: View;
  readonly jobs: Schemas["JobList"];
  readonly query: JobQuery;
  readonly regions: readonly Schemas["CatalogRegion"][];
};

export function JobListPage({ view, jobs, query, regions }: Props) {
  const { messages } = view;
  const parameters = jobParameters(query);
  return (
    <Shell view={view} title={messages.jobs.title} section="jobs">
      <PageHead
        title={messages.jobs.title}
        lead={messages.jobs.lead}
        api={<ApiDrawer view={view} calls={[{ operation: "listJobs", query: parameters }]} />}
      />
      <search class="list-bar">
        <form
          class="filters"
          method="get"
          action="/jobs"
          hx-get="/jobs"
          hx-trigger="input, submit"
          hx-sync="this:replace"
          hx-target="#job-list"
          hx-select="#job-list"
          hx-swap="outerMorph"
          hx-replace-url="true"
        >
          <label>
            <span class="visually-hidden">{messages.common.status}</span>
            <select name="status">
              <option value="">{messages.jobs.allStatuses}</option>
              {jobStatuses.map((choice) => (
                <option value={choice} selected={choice === query.status}>
                  {messages.jobs.status[choice]}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span class="visually-hidden">{messages.jobs.job}</span>
            <select name="kind">
              <option value="">{messages.jobs.allKinds}</option>
              {Object.entries(messages.jobs.kind).map(([kind, name]) => (
                <option value={kind} selected={kind === query.kind}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span class="visually-hidden">{messages.common.region}</span>
            <select name="region">
              <option value="">{messages.listFilters.allRegions}</option>
              {regions.map(({ slug, name }) => (
                <option value={slug} selected={slug === query.region}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" class="button without-script">
            {messages.common.apply}
          </button>
        </form>
        <ListView view={view} list="jobs" columns={jobColumns(view)} />
      </search>
      <section
        id="job-list"
        aria-label={messages.jobs.title}
        data-poll=""
        hx-get={parameters.size === 0 ? "/jobs" : `/jobs?${parameters}`}
        hx-trigger="every 5s, refresh"
        hx-select="#job-list"
        hx-swap="outerMorph"
      >
        {jobs.items.length === 0 && isJobListNarrowed(query) ? (
          <NothingMatches view={view} page="/jobs" />
        ) : jobs.items.length === 0 ? (
          <EmptyState title={messages.jobs.empty} hint={messages.jobs.emptyHint} />
        ) : (
          <>
            <JobTable view={view} jobs={jobs.items} showsResource />
            <Pages
              view={view}
              base="/jobs"
              query={parameters}
              cursor={query.cursor}
              next={jobs.next_cursor}
            />
          </>
        )}
      </section>
    </Shell>
  );
}

function jobColumns(view: View): Columns<"jobs", Job> {
  const { messages } = view;
  const text = messages.jobs;
  return {
    status: {
      label: messages.common.status,
      isPlain: true,
      cell: ({ status, progress }) => (
        <Status tone={jobTone(status)}>
          {text.status[status] ?? status}
          {status === "running" ? <span class="figures">{view.format.percent(progress)}</span> : null}
        </Status>
      ),
    },
    resource: {
      label: text.resource,
      cell: ({ resource }) => <ResourceLink resource={resource} />,
    },
    requested_by: {
      label: text.requestedBy,
      // It may name a job.
      class: "breakable",
      cell: ({ requested_by }) => actorName(view, requested_by),
    },
    duration: { label: text.duration, class: "figures number", cell: (job) => jobDuration(view, job) ?? "–" },
    created: {
      label: messages.common.created,
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

/** Jobs as rows; on a resource's own page the resource is left out. */
export function JobTable(props: {
  readonly view: View;
  readonly jobs: readonly Job[];
  readonly showsResource?: boolean;
}) {
  const { view, jobs, showsResource = false } = props;
  const text = view.messages.jobs;
  return (
    <ListTable
      view={view}
      list="jobs"
      items={jobs}
      name={{
        label: text.job,
        cell: (job) => (
          <a href={`/jobs/${job.id}`} id={`open-${job.id}`}>
            {jobName(view.messages, job)}
          </a>
        ),
      }}
      columns={jobColumns(view)}
      without={showsResource ? [] : ["resource"]}
      row={({ id, status }) => ({ id: `row-${id}`, "data-tone": jobTone(status) })}
    />
  );
}

/** The resource of a job: its name, linked where it has a page. */
export function ResourceLink({ resource }: { readonly resource: Schemas["ResourceRef"] }) {
  const { type, id, name } = resource;
  // A deleted resource has no name and no page.
  if (name === null) return <code>{id}</code>;
  const path = type === "server" ? `/servers/${id}` : type === "network" ? `/networks/${id}` : null;
  return path === null ? <span>{name}</span> : <a href={path}>{name}</a>;
}

/** The requester: a person's or token's name, or the system. */
export function actorName(view: View, actor: Schemas["Actor"]): string {
  return actor.name ?? (actor.type === "system" ? view.messages.jobs.system : (actor.id ?? actor.type));
}

/** The job's duration, or null before it started. */
export function jobDuration(view: View, job: Job): string | null {
  if (job.started_at === null) return null;
  const end = job.finished_at === null ? view.now.getTime() : Date.parse(job.finished_at);
  return view.format.duration(end - Date.parse(job.started_at));
}
