import type { Schemas } from "@kule/contract/schemas";
import { EmptyState, Pages } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { DayBars, FillBar, ShareBars } from "./bars-part.tsx";
import { UsageHead } from "./head-part.tsx";
import type { Month } from "./month.ts";

type Props = {
  readonly view: View;
  readonly month: Month;
  readonly byResource: Schemas["UsageSummary"];
  readonly byDay: Schemas["UsageSummary"];
  readonly byPackage: Schemas["UsageSummary"];
  readonly quotas: Schemas["QuotaList"];
  readonly cursor: string | undefined;
};

const hour = 3600;

export function UsagePage(props: Props) {
  const { view, month, byResource } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={messages.usage.title} section="usage">
      <UsageHead
        view={view}
        current="summary"
        title={messages.usage.title}
        lead={messages.usage.lead}
        month={month}
        query={new URLSearchParams()}
        file={new URLSearchParams({ from: month.from, to: month.to })}
        calls={[
          { operation: "summariseUsage", query: { group_by: "resource", from: month.from, to: month.to } },
        ]}
      />
      {byResource.items.length === 0 ? (
        <EmptyState title={messages.usage.empty} hint={messages.usage.emptyHint} />
      ) : (
        <>
          <Days {...props} />
          <Products {...props} />
          <Resources {...props} />
          <Pages
            view={view}
            base="/usage"
            query={new URLSearchParams({ month: month.id })}
            cursor={props.cursor}
            next={byResource.next_cursor}
          />
        </>
      )}
      <Quotas {...props} />
    </Shell>
  );
}

/** The value of each day's bar. */
type DayMeasure = {
  readonly title: string;
  /** In hours. */
  readonly of: (item: Schemas["UsageSummaryItem"]) => number;
  readonly unit: (hours: string) => string;
};

function Days({ view, month, byDay }: Props) {
  const { messages, format } = view;
  const text = messages.usage;
  const measures: readonly DayMeasure[] = [
    { title: text.vcpuByDay, of: ({ vcpu_seconds }) => vcpu_seconds / hour, unit: text.vcpuHours },
    { title: text.diskByDay, of: ({ disk_gb_seconds }) => disk_gb_seconds / hour, unit: text.diskHours },
    {
      title: text.memoryByDay,
      of: ({ memory_mb_seconds }) => memory_mb_seconds / 1024 / hour,
      unit: text.memoryHours,
    },
    { title: text.addressesByDay, of: ({ public_ip_seconds }) => public_ip_seconds / hour, unit: text.hours },
  ];
  const found = new Map(
    byDay.items.flatMap((item) => (item.group === null ? [] : [[item.group, item] as const])),
  );
  const said = ({ unit }: DayMeasure, hours: number) => unit(format.number(hours));
  return (
    <section class="panel" aria-labelledby="days-title">
      <div class="panel-head">
        <h2 id="days-title">{text.byDay}</h2>
      </div>
      <div class="usage-days">
        {measures.map((measure) => {
          const days = month.days.map((day) => {
            const item = found.get(day);
            const value = item === undefined ? 0 : measure.of(item);
            return { name: format.day(day), value, said: said(measure, value) };
          });
          const total = days.reduce((sum, { value }) => sum + value, 0);
          return <DayBars label={measure.title} total={said(measure, total)} days={days} />;
        })}
      </div>
      <details class="add-inline" id="days-table">
        <summary>{text.asTable}</summary>
        <table class="list">
          <caption class="visually-hidden">{text.byDay}</caption>
          <thead>
            <tr>
              <th scope="col">{text.day}</th>
              {measures.map(({ title }) => (
                <th scope="col" class="number">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {month.days.map((day) => {
              const item = found.get(day);
              return item === undefined ? null : (
                <tr>
                  <th scope="row">{format.day(day)}</th>
                  {measures.map((measure) => (
                    <td class="figures number" data-label={measure.title}>
                      {said(measure, measure.of(item))}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </details>
    </section>
  );
}

/** The month by product: packages by the hours that they ran, disks and addresses by theirs. */
function Products({ view, byPackage }: Props) {
  const { messages, format } = view;
  const text = messages.usage;
  const packages = byPackage.items
    .filter(({ compute_seconds }) => compute_seconds > 0)
    .map(({ group, compute_seconds }) => ({
      name: text.package((group ?? "").toUpperCase()),
      hours: compute_seconds / hour,
    }));
  const sum = (value: (item: Schemas["UsageSummaryItem"]) => number) =>
    byPackage.items.reduce((total, item) => total + value(item), 0) / hour;
  const others = [
    { name: text.disks, hours: sum(({ disk_seconds }) => disk_seconds) },
    { name: text.addresses, hours: sum(({ public_ip_seconds }) => public_ip_seconds) },
  ].filter(({ hours }) => hours > 0);
  return (
    <section class="panel" aria-labelledby="products-title">
      <div class="panel-head">
        <h2 id="products-title">{text.byProduct}</h2>
      </div>
      <ShareBars
        label={text.byProduct}
        shares={[...packages, ...others].map(({ name, hours }) => ({
          name,
          value: hours,
          said: text.hours(format.number(hours)),
        }))}
      />
    </section>
  );
}

function Resources({ view, month, byResource }: Props) {
  const { messages, format } = view;
  const hours = (seconds: number) => format.number(seconds / hour);
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">{messages.usage.resource}</th>
          <th scope="col">{messages.usage.running}</th>
          <th scope="col">{messages.usage.vcpu}</th>
          <th scope="col">{messages.usage.memory}</th>
          <th scope="col">{messages.usage.disk}</th>
        </tr>
      </thead>
      <tbody>
        {byResource.items.map((item) => (
          <tr>
            <th scope="row">
              {item.type === "server" ? <a href={`/servers/${item.group}`}>{item.name}</a> : item.name}{" "}
              <a
                class="hint"
                href={`/usage/segments?${new URLSearchParams({ month: month.id, resource: item.group ?? "" })}`}
                aria-label={messages.segments.of(item.name ?? item.group ?? "")}
              >
                {messages.segments.title}
              </a>
              {item.type === "public_ip" ? (
                <small class="hint"> {messages.usage.address(hours(item.public_ip_seconds))}</small>
              ) : null}
            </th>
            <td data-label={messages.usage.running}>{messages.usage.hours(hours(item.compute_seconds))}</td>
            <td data-label={messages.usage.vcpu}>{messages.usage.vcpuHours(hours(item.vcpu_seconds))}</td>
            <td data-label={messages.usage.memory}>
              {messages.usage.memoryHours(hours(item.memory_mb_seconds / 1024))}
            </td>
            <td data-label={messages.usage.disk}>{messages.usage.diskHours(hours(item.disk_gb_seconds))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Quotas({ view, quotas }: Props) {
  const { messages } = view;
  return (
    <section class="panel" id="quotas" aria-labelledby="quotas-title">
      <div class="panel-head">
        <h2 id="quotas-title">{messages.usage.quotas}</h2>
      </div>
      <p class="hint">{messages.usage.quotasHint}</p>
      <ul class="quotas">
        {quotas.items.map((quota) => (
          <li>
            <span class="quota-name">{messages.usage.quotaNames[quota.name]}</span>
            <span class="quota-figures">
              {quota.limit === null
                ? messages.usage.unlimited(amount(view, quota, quota.used))
                : messages.usage.usedOf(amount(view, quota, quota.used), amount(view, quota, quota.limit))}
              {quota.reserved === 0 ? null : (
                <small class="hint"> {messages.usage.reserved(amount(view, quota, quota.reserved))}</small>
              )}
            </span>
            <FillBar label={messages.usage.quotaNames[quota.name]} used={quota.used} limit={quota.limit} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function amount({ format }: View, { unit }: Schemas["Quota"], value: number): string {
  if (unit === "MB") return format.memory(value);
  return unit === "GB" ? format.disk(value) : format.number(value);
}
