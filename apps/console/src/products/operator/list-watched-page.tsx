import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import type { CalledOperation } from "../../api-operation.ts";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { type OperatorTab, OperatorTabs } from "../../layout/operator-tabs.tsx";
import { EmptyState, PageHead, Pages, Status, type Tone } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

/** The categories of entries: a drift's kind, a stuck job's reason. */
export type Sorting<Sort extends string> = {
  /** Its name in the address and in the API's query. */
  readonly name: string;
  readonly label: string;
  readonly any: string;
  readonly sorts: readonly Sort[];
  readonly chosen: Sort | "";
  readonly names: Readonly<Record<Sort, string>>;
  readonly hints: Readonly<Record<Sort, string>>;
  readonly tones: Readonly<Record<Sort, Tone>>;
  /** The heading of the explanations of the categories. */
  readonly meanings: string;
};

type Props<Sort extends string> = {
  readonly view: View;
  readonly tab: OperatorTab;
  readonly path: string;
  readonly list: "stuck_jobs" | "drift";
  readonly operation: CalledOperation["operation"];
  readonly text: {
    readonly title: string;
    readonly lead: string;
    readonly none: string;
    readonly noneHint: string;
    readonly noMatch: string;
    readonly noMatchHint: string;
  };
  readonly regions: readonly Schemas["Region"][];
  readonly region: string;
  readonly sorting: Sorting<Sort>;
  readonly cursor: string | undefined;
  readonly next: string | null;
  /** The table; null when it is empty. */
  readonly children: Child;
};

/** A list of problems in all regions for operators: it is empty while there are none, and refreshes by itself. */
export function WatchedList<Sort extends string>(props: Props<Sort>) {
  const { view, path, text, region, sorting, children } = props;
  const query = new URLSearchParams({
    ...(region === "" ? {} : { region }),
    ...(sorting.chosen === "" ? {} : { [sorting.name]: sorting.chosen }),
  });
  return (
    <Shell view={view} title={text.title} section="operator" crumbs={operatorCrumbs(view)}>
      <OperatorTabs view={view} current={props.tab} />
      <PageHead
        title={text.title}
        lead={text.lead}
        api={<ApiDrawer view={view} calls={[{ operation: props.operation, query }]} />}
      />
      <search class="list-bar">
        <Filters {...props} />
        <ListView view={view} list={props.list} columns={{}} />
      </search>
      <div
        id="watched"
        class="stack"
        data-poll=""
        hx-get={view.path}
        hx-trigger="every 10s, refresh"
        hx-select="#watched"
        hx-swap="outerMorph"
      >
        {children !== null ? (
          children
        ) : query.size === 0 ? (
          <EmptyState title={text.none} hint={text.noneHint} />
        ) : (
          <EmptyState title={text.noMatch} hint={text.noMatchHint}>
            <a class="button" href={path}>
              {view.messages.operator.clear}
            </a>
          </EmptyState>
        )}
        <Pages view={view} base={path} query={query} cursor={props.cursor} next={props.next} />
      </div>
      <details class="add-inline">
        <summary>{sorting.meanings}</summary>
        <dl class="kinds">
          {sorting.sorts.map((sort) => (
            <div>
              <dt>
                <Status tone={sorting.tones[sort]}>{sorting.names[sort]}</Status>
              </dt>
              <dd>{sorting.hints[sort]}</dd>
            </div>
          ))}
        </dl>
      </details>
    </Shell>
  );
}

function Filters<Sort extends string>({ view, path, regions, region, sorting }: Props<Sort>) {
  const { messages } = view;
  return (
    <form class="filters" method="get" action={path}>
      <label>
        <span class="visually-hidden">{messages.common.region}</span>
        <select name="region">
          <option value="">{messages.operator.allRegions}</option>
          {regions.map(({ slug, name }) => (
            <option value={slug} selected={region === slug}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="visually-hidden">{sorting.label}</span>
        <select name={sorting.name}>
          <option value="">{sorting.any}</option>
          {sorting.sorts.map((sort) => (
            <option value={sort} selected={sorting.chosen === sort}>
              {sorting.names[sort]}
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
