import type { Schemas } from "@kule/contract/schemas";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { EmptyState, Pages, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { amountOf } from "./amount.ts";
import { UsageFilters } from "./filter-form.tsx";
import { UsageHead, usageCrumbs } from "./head-part.tsx";
import { exportParameters, segmentKinds, usageParameters } from "./list-query.ts";
import type { Month } from "./month.ts";
import type { UsageListProps } from "./props.ts";

type Segment = Schemas["UsageSegment"];
type Props = UsageListProps<Schemas["UsageSegmentKind"]> & { readonly segments: Schemas["UsageSegmentList"] };

/** The segments of the month: the start, end and size of each resource's use, filtered. */
export function SegmentsPage(props: Props) {
  const { view, month, query, segments } = props;
  const texts = view.messages.segments;
  const parameters = usageParameters(query);
  return (
    <Shell view={view} title={texts.title} section="usage" crumbs={usageCrumbs(view)}>
      <UsageHead
        view={view}
        current="segments"
        title={texts.title}
        lead={texts.lead}
        month={month}
        query={parameters}
        file={exportParameters(month, "segments", query)}
        calls={[
          {
            operation: "listUsageSegments",
            query: { from: month.from, to: month.to, ...Object.fromEntries(parameters) },
          },
        ]}
      />
      <UsageFilters
        {...props}
        page="/usage/segments"
        kinds={segmentKinds.map((value) => ({ value, label: texts.kinds[value] }))}
        hint={texts.exportHint}
        options={<ListView view={view} list="segments" columns={segmentColumns(view)} />}
      />
      {segments.items.length === 0 ? (
        <EmptyState title={texts.empty} hint={texts.emptyHint} />
      ) : (
        <SegmentTable {...props} />
      )}
      <Pages
        view={view}
        base="/usage/segments"
        query={new URLSearchParams({ month: month.id, ...Object.fromEntries(parameters) })}
        cursor={props.cursor}
        next={segments.next_cursor}
      />
    </Shell>
  );
}

function segmentColumns(view: View): Columns<"segments", Segment> {
  const { messages, format } = view;
  const texts = messages.segments;
  return {
    kind: { label: texts.kind, cell: ({ kind }) => texts.kinds[kind] },
    amount: { label: texts.amount, class: "figures number", cell: (segment) => amountOf(view, segment) },
    region: { label: messages.common.region, cell: ({ region }) => region },
    start: {
      label: texts.start,
      cell: ({ start }) => <time datetime={start}>{format.dateTime(start)}</time>,
    },
    end: {
      label: texts.end,
      cell: ({ end }) =>
        end === null ? (
          <Status tone="good">{texts.goesOn}</Status>
        ) : (
          <time datetime={end}>{format.dateTime(end)}</time>
        ),
    },
    took: {
      label: texts.took,
      class: "figures number",
      cell: ({ start, end }) =>
        format.duration((end === null ? view.now.getTime() : Date.parse(end)) - Date.parse(start)),
    },
  };
}

/** The start and end of each resource's use, and its size. */
export function SegmentTable(props: {
  readonly view: View;
  readonly month: Month;
  readonly segments: Schemas["UsageSegmentList"];
}) {
  const { view, month, segments } = props;
  return (
    <ListTable
      view={view}
      list="segments"
      items={segments.items}
      name={{
        label: view.messages.usage.resource,
        cell: ({ resource }) => (
          <a href={`/usage/segments?${new URLSearchParams({ month: month.id, resource: resource.id })}`}>
            {resource.name}
          </a>
        ),
      }}
      columns={segmentColumns(view)}
      row={({ id }) => ({ id })}
    />
  );
}
