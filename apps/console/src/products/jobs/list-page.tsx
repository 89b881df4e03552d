import type { Schemas } from "@kule/contract/schemas";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { EmptyState, PageHead, Pages, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { jobTone } from "./phase-states.ts";

type Job = Schemas["Job"];

export const jobStatuses = ["queued", "running", "succeeded", "failed", "cancelled"] as const;

type Props = {
  readonly view: View;
  readonly jobs: Schemas["JobList"];
  readonly status: Schemas["JobStatus"] | "";
  readonly cursor: string | undefined;
  /** Names of servers and networks by id, as far as they are known. */
  readonly names: ReadonlyMap<string, string>;
};

export function JobListPage({ view, jobs, status, cursor, names }: Props) {
  const { messages } = view;
  const query = new URLSearchParams(status === "" ? {} : { status });
  if (cursor !== undefined) query.set("cursor", cursor);
  return (
    <Shell view={view} title={messages.jobs.title} section="jobs">
      <PageHead title={messages.jobs.title} lead={messages.jobs.lead} />
      <search class="list-bar">
        <form
          class="filters"
          method="get"
          action="/jobs"
          hx-get="/jobs"
          hx-trigger="input, submit"
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
                <option value={choice} selected={choice === status}>
                  {messages.jobs.status[choice]}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" class="button without-script">
            {messages.common.apply}
          </button>
        </form>
        <ListView view={view} list="jobs" columns={jobColumns(view, names)} />
      </search>
      <section
        id="job-list"
        aria-label={messages.jobs.title}
        data-poll=""
        hx-get={query.size === 0 ? "/jobs" : `/jobs?${query}`}
        hx-trigger="every 5s, refresh"
        hx-select="#job-list"
        hx-swap="outerMorph"
      >
        {jobs.items.length === 0 ? (
          <EmptyState title={messages.jobs.empty} hint={messages.jobs.emptyHint} />
        ) : (
          <>
            <JobTable view={view} jobs={jobs.items} names={names} />
            <Pages view={view} base="/jobs" query={query} cursor={cursor} next={jobs.next_cursor} />
          </>
        )}
      </section>
    </Shell>
  );
}

function jobColumns(view: View, names: ReadonlyMap<string, string>): Columns<"jobs", Job> {
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
      cell: ({ resource }) => <ResourceLink resource={resource} name={names.get(resource.id)} />,
    },
    requested_by: {
      label: text.requestedBy,
      cell: ({ requested_by }) => actorName(view, requested_by),
    },
    duration: { label: text.duration, class: "figures", cell: (job) => jobDuration(view, job) ?? "–" },
    created: {
      label: messages.common.created,
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

/** Jobs as rows; on a resource's own page, where no names are needed, the resource is left out. */
export function JobTable(props: {
  readonly view: View;
  readonly jobs: readonly Job[];
  readonly names?: ReadonlyMap<string, string>;
}) {
  const { view, jobs, names } = props;
  const text = view.messages.jobs;
  return (
    <ListTable
      view={view}
      list="jobs"
      items={jobs}
      name={{
        label: text.job,
        cell: ({ id, kind }) => (
          <a href={`/jobs/${id}`} id={`open-${id}`}>
            {text.kind[kind] ?? kind}
          </a>
        ),
      }}
      columns={jobColumns(view, names ?? new Map())}
      without={names === undefined ? ["resource"] : []}
      row={({ id, status }) => ({ id: `row-${id}`, "data-tone": jobTone(status) })}
    />
  );
}

/** The thing a job is about: by its name where that is known, and a link where there is a page. */
export function ResourceLink(props: {
  readonly resource: Schemas["ResourceRef"];
  readonly name: string | undefined;
}) {
  const { resource, name } = props;
  const { type, id } = resource;
  const path = type === "server" ? `/servers/${id}` : type === "network" ? `/networks/${id}` : null;
  // One that is gone has no name and no page.
  if (path === null || name === undefined) return <code>{id}</code>;
  return <a href={path}>{name}</a>;
}

/** Who asked: a person's or token's name, or the system. */
export function actorName(view: View, actor: Schemas["Actor"]): string {
  return actor.name ?? (actor.type === "system" ? view.messages.jobs.system : (actor.id ?? actor.type));
}

/** How long the job ran, or null before it began. */
export function jobDuration(view: View, job: Job): string | null {
  if (job.started_at === null) return null;
  const end = job.finished_at === null ? view.now.getTime() : Date.parse(job.finished_at);
  return view.format.duration(end - Date.parse(job.started_at));
}
