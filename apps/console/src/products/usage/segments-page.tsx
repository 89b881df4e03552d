import type { Schemas } from "@kule/contract/schemas";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { type FieldProblems, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { EmptyState, PageHead, Pages, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { Month } from "./month.ts";
import { type SegmentQuery, segmentKinds, segmentParameters } from "./segment-query.ts";

type Props = {
  readonly view: View;
  readonly month: Month;
  readonly query: SegmentQuery;
  readonly segments: Schemas["UsageSegmentList"];
  readonly problems: FieldProblems;
  readonly cursor: string | undefined;
};

/** What the month is made of: from when to when each thing was there, narrowed as one likes. */
export function SegmentsPage(props: Props) {
  const { view, month, query, segments } = props;
  const { messages, format } = view;
  const texts = messages.segments;
  const window = { from: month.from, to: month.to };
  return (
    <Shell view={view} title={texts.title} section="usage">
      <p class="crumbs">
        <a href={`/usage?month=${month.id}`}>{`${messages.usage.title} · ${format.month(month.from)}`}</a>
      </p>
      <PageHead title={texts.title} lead={texts.lead} />
      <Filters {...props} />
      {segments.items.length === 0 ? (
        <EmptyState title={texts.empty} hint={texts.emptyHint} />
      ) : (
        <SegmentTable {...props} />
      )}
      <Pages
        view={view}
        base="/usage/segments"
        query={new URLSearchParams({ month: month.id, ...Object.fromEntries(segmentParameters(query)) })}
        cursor={props.cursor}
        next={segments.next_cursor}
      />
      <ApiCalls
        view={view}
        calls={[
          {
            operation: "listUsageSegments",
            query: { ...window, ...Object.fromEntries(segmentParameters(query)) },
          },
        ]}
      />
    </Shell>
  );
}

function Filters({ view, month, query, problems }: Props) {
  const { messages } = view;
  const texts = messages.segments;
  const { kind: _kind, ...others } = query;
  const exported = new URLSearchParams({
    from: month.from,
    to: month.to,
    ...Object.fromEntries(segmentParameters({ ...others, kind: "" })),
  });
  return (
    <form class="segment-filters" method="get" action="/usage/segments">
      <input type="hidden" name="month" value={month.id} />
      <div class="field">
        <label for="field-kind">{texts.kind}</label>
        <select id="field-kind" name="kind">
          <option value="">{messages.common.all}</option>
          {segmentKinds.map((kind) => (
            <option value={kind} selected={query.kind === kind}>
              {texts.kinds[kind]}
            </option>
          ))}
        </select>
      </div>
      <TextField
        view={view}
        name="resource"
        label={texts.resource}
        value={query.resource}
        problems={problems}
        mono
        maxlength={100}
        attributes={{ placeholder: "srv_…" }}
      />
      <TextField
        view={view}
        name="label_selector"
        label={messages.labels.title}
        value={query.label_selector}
        problems={problems}
        mono
        maxlength={1000}
        attributes={{ placeholder: "role=web,env!=test" }}
      />
      <button type="submit" class="button" data-kind="primary">
        {messages.common.apply}
      </button>
      <a class="button" href={`/usage/export.csv?${exported}`} download>
        <Icon name="download" /> {messages.usage.csv}
      </a>
      <a class="button" href={`/usage/export.ndjson?${exported}`} download>
        <Icon name="download" /> {messages.usage.ndjson}
      </a>
      <p class="hint">{texts.exportHint}</p>
    </form>
  );
}

/** When each thing was there, and how much of it. */
export function SegmentTable({ view, month, segments }: Pick<Props, "view" | "month" | "segments">) {
  const { messages, format } = view;
  const texts = messages.segments;
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{messages.usage.resource}</th>
          <th scope="col">{texts.kind}</th>
          <th scope="col">{texts.amount}</th>
          <th scope="col">{texts.start}</th>
          <th scope="col">{texts.end}</th>
          <th scope="col">{texts.took}</th>
        </tr>
      </thead>
      <tbody>
        {segments.items.map((segment) => {
          const ends = segment.end === null ? view.now.getTime() : Date.parse(segment.end);
          return (
            <tr>
              <th scope="row">
                <a
                  href={`/usage/segments?${new URLSearchParams({ month: month.id, resource: segment.resource.id })}`}
                >
                  {segment.resource.name}
                </a>
              </th>
              <td data-label={texts.kind}>{texts.kinds[segment.kind]}</td>
              <td class="figures" data-label={texts.amount}>
                {amountOf(view, segment)}
              </td>
              <td data-label={texts.start}>
                <time datetime={segment.start}>{format.dateTime(segment.start)}</time>
              </td>
              <td data-label={texts.end}>
                {segment.end === null ? (
                  <Status tone="good">{texts.goesOn}</Status>
                ) : (
                  <time datetime={segment.end}>{format.dateTime(segment.end)}</time>
                )}
              </td>
              <td class="figures" data-label={texts.took}>
                {format.duration(ends - Date.parse(segment.start))}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function amountOf({ messages, format }: View, segment: Schemas["UsageSegment"]): string {
  const { vcpu, memory_mb, disk_gb } = segment.quantity;
  const parts = [
    segment.kind === "compute" && segment.package !== null ? segment.package.toUpperCase() : null,
    vcpu === undefined ? null : messages.create.vcpu(format.number(vcpu)),
    memory_mb === undefined ? null : format.memory(memory_mb),
    disk_gb === undefined ? null : format.disk(disk_gb),
  ].filter((part) => part !== null);
  return parts.length === 0 ? "–" : parts.join(" · ");
}
