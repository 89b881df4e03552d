import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { EmptyState, Pages } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { resourceAddress } from "../../resource-address.ts";
import { amountOf } from "./amount.ts";
import { UsageFilters } from "./filter-form.tsx";
import { UsageHead, usageCrumbs } from "./head-part.tsx";
import { eventKinds, exportParameters, usageParameters } from "./list-query.ts";
import type { UsageListProps } from "./props.ts";

type Event = Schemas["UsageEvent"];
type Props = UsageListProps<Schemas["UsageKind"]> & { readonly events: Schemas["UsageList"] };

/** The list filtered by the same labels. */
const listOf = {
  server: "/servers",
  public_ip: "/public-ips",
  load_balancer: "/load-balancers",
} as const;

/** The events from which segments are derived: each start and end of a resource's use, and its cause. */
export function EventsPage(props: Props) {
  const { view, month, query, events } = props;
  const texts = view.messages.usageEvents;
  const parameters = usageParameters(query);
  return (
    <Shell view={view} title={texts.title} section="usage" crumbs={usageCrumbs(view)}>
      <UsageHead
        view={view}
        current="events"
        title={texts.title}
        lead={texts.lead}
        month={month}
        query={parameters}
        file={exportParameters(month, "events", query)}
        calls={[
          {
            operation: "listUsage",
            query: { from: month.from, to: month.to, ...Object.fromEntries(parameters) },
          },
        ]}
      />
      <UsageFilters
        {...props}
        page="/usage/events"
        kinds={eventKinds.map((value) => ({ value, label: texts.kinds[value] }))}
        hint={view.messages.segments.exportHint}
        options={<ListView view={view} list="events" columns={eventColumns(props)} />}
      />
      {events.items.length === 0 ? (
        <EmptyState title={texts.empty} hint={texts.emptyHint} />
      ) : (
        <EventTable {...props} />
      )}
      <Pages
        view={view}
        base="/usage/events"
        query={new URLSearchParams({ month: month.id, ...Object.fromEntries(parameters) })}
        cursor={props.cursor}
        next={events.next_cursor}
      />
    </Shell>
  );
}

function eventColumns({ view, month }: Props): Columns<"events", Event> {
  const { messages, format } = view;
  const texts = messages.usageEvents;
  return {
    at: { label: texts.at, cell: ({ at }) => <time datetime={at}>{format.dateTime(at)}</time> },
    resource: {
      label: messages.usage.resource,
      cell: ({ resource }) => (
        <>
          <ResourceName resource={resource} />{" "}
          <a
            class="hint"
            href={`/usage/events?${new URLSearchParams({ month: month.id, resource: resource.id })}`}
          >
            {texts.only}
            <span class="visually-hidden">: {resource.name}</span>
          </a>
        </>
      ),
    },
    amount: {
      label: messages.segments.amount,
      class: "figures number",
      cell: (event) => amountOf(view, event),
    },
    region: { label: messages.common.region, cell: ({ region }) => region },
    labels: {
      label: messages.labels.title,
      cell: ({ labels, resource }) =>
        Object.keys(labels).length === 0 ? "–" : <LabelTags labels={labels} list={listOf[resource.type]} />,
    },
    cause: {
      label: texts.cause,
      cell: ({ job_id, source }) =>
        job_id === null ? texts.sources[source] : <a href={`/jobs/${job_id}`}>{texts.job}</a>,
    },
  };
}

/** By its name at that time. */
function ResourceName({ resource }: { readonly resource: Event["resource"] }) {
  const address = resourceAddress(resource.id);
  return address === null ? resource.name : <a href={address}>{resource.name}</a>;
}

function EventTable(props: Props) {
  const { view, events } = props;
  const texts = view.messages.usageEvents;
  return (
    <ListTable
      view={view}
      list="events"
      items={events.items}
      name={{ label: texts.event, cell: ({ kind }) => texts.kinds[kind] ?? kind }}
      columns={eventColumns(props)}
      row={({ id }) => ({ id })}
    />
  );
}
