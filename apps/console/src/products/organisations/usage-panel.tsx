import type { Schemas } from "@kule/contract/schemas";
import { When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { ChooseOrganisation } from "./choose-form.tsx";
import type { OrganisationPageProps } from "./props.ts";

const hour = 3600;

/** The organisation's usage of the current month, and the resources that it uses now. */
export function OrganisationUsage(props: OrganisationPageProps) {
  const { view, organisation, usage, segments, monthFrom } = props;
  const { messages, format } = view;
  const text = messages.organisations;
  const sum = (value: (item: Schemas["UsageSummaryItem"]) => number) =>
    format.number(usage.items.reduce((total, item) => total + value(item), 0) / hour);
  return (
    <section class="panel" id="usage" aria-labelledby="usage-title">
      <div class="panel-head">
        <h2 id="usage-title">{text.usage}</h2>
        <ChooseOrganisation view={view} organisation={organisation} to="/usage" label={text.openUsage} />
      </div>
      <p class="panel-lead">{text.usageHint(format.month(monthFrom))}</p>
      {usage.items.length === 0 ? (
        <p class="hint">{text.noUsage}</p>
      ) : (
        <dl class="facts" data-columns="">
          <Sum label={text.vcpuHours} value={sum(({ vcpu_seconds }) => vcpu_seconds)} />
          <Sum label={text.memoryHours} value={sum(({ memory_mb_seconds }) => memory_mb_seconds / 1024)} />
          <Sum label={text.diskHours} value={sum(({ disk_gb_seconds }) => disk_gb_seconds)} />
          <Sum label={text.addressHours} value={sum(({ public_ip_seconds }) => public_ip_seconds)} />
        </dl>
      )}
      {segments.length === 0 ? null : (
        <details class="add-inline">
          <summary>{text.segments}</summary>
          <div>
            <p class="hint">{text.segmentsHint}</p>
            <Segments view={view} segments={segments} />
          </div>
        </details>
      )}
    </section>
  );
}

function Sum({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class="figures">{value}</dd>
    </div>
  );
}

function Segments(props: { readonly view: View; readonly segments: readonly Schemas["UsageSegment"][] }) {
  const { view } = props;
  const text = view.messages.organisations;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.segments}</caption>
      <thead>
        <tr>
          <th scope="col">{text.segment}</th>
          <th scope="col" class="number">
            {text.measure}
          </th>
          <th scope="col">{text.began}</th>
          <th scope="col">{text.ended}</th>
        </tr>
      </thead>
      <tbody>
        {props.segments.map((segment) => (
          <tr>
            <th scope="row">
              {segment.resource.name} <span class="tag">{text.segmentKinds[segment.kind]}</span>
            </th>
            <td class="figures number" data-label={text.measure}>
              {measure(view, segment)}
            </td>
            <td data-label={text.began}>
              <When view={view} time={segment.start} />
            </td>
            <td data-label={text.ended}>
              {segment.end === null ? text.running : <When view={view} time={segment.end} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function measure({ messages, format }: View, { quantity }: Schemas["UsageSegment"]): string {
  const part = (value: number | undefined, said: (value: number) => string) =>
    value === undefined || value === 0 ? [] : [said(value)];
  return [
    ...part(quantity.vcpu, (count) => messages.create.vcpu(format.number(count))),
    ...part(quantity.memory_mb, format.memory),
    ...part(quantity.disk_gb, format.disk),
    ...part(quantity.count, format.number),
  ].join(" · ");
}
