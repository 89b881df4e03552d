import type { CalledOperation } from "../../api-operation.ts";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import type { Crumb } from "../../layout/crumbs-part.tsx";
import { Icon } from "../../layout/icons.tsx";
import { PageHead } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { Month } from "./month.ts";

const tabs = [
  ["summary", "/usage"],
  ["segments", "/usage/segments"],
  ["events", "/usage/events"],
] as const;

/** The page above those of segments and events. */
export function usageCrumbs({ messages }: View): readonly Crumb[] {
  return [{ path: "/usage", text: messages.usage.title }];
}

/** The head of the usage pages: tabs, month, and download as a file. */
export function UsageHead(props: {
  readonly view: View;
  readonly current: (typeof tabs)[number][0];
  readonly title: string;
  readonly lead: string;
  readonly month: Month;
  /** The filters of the page, which links to other months and files keep. */
  readonly query: URLSearchParams;
  readonly file: URLSearchParams;
  readonly calls: readonly CalledOperation[];
}) {
  const { view, current, month, file } = props;
  const { usage: text } = view.messages;
  const page = tabs.find(([name]) => name === current)?.[1] ?? "/usage";
  const of = (other: string) =>
    `${page}?${new URLSearchParams({ month: other, ...Object.fromEntries(props.query) })}`;
  return (
    <>
      <PageHead title={props.title} lead={props.lead} api={<ApiDrawer view={view} calls={props.calls} />} />
      <nav class="tabs" aria-label={text.title}>
        {tabs.map(([name, path]) => (
          <a href={`${path}?month=${month.id}`} aria-current={name === current ? "page" : undefined}>
            {text.tabs[name]}
          </a>
        ))}
      </nav>
      <div class="usage-bar">
        <nav class="usage-months" aria-label={text.month}>
          <a class="button" href={of(month.previous)} rel="prev">
            {text.before}
          </a>
          <strong>{view.format.month(month.from)}</strong>
          {month.next === null ? null : (
            <a class="button" href={of(month.next)} rel="next">
              {text.after}
            </a>
          )}
        </nav>
        <div class="usage-exports">
          <a class="button" href={`/usage/export.csv?${file}`} download>
            <Icon name="download" /> {text.csv}
          </a>
          <a class="button" href={`/usage/export.ndjson?${file}`} download>
            <Icon name="download" /> {text.ndjson}
          </a>
        </div>
      </div>
    </>
  );
}
