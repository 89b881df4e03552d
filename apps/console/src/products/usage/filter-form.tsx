import type { Child } from "hono/jsx";
import { SelectField, TextField } from "../../layout/fields.tsx";
import type { UsageListProps } from "./props.ts";

/** The filters of segments and events; beside them the settings of the list. */
export function UsageFilters<Kind extends string>(
  props: UsageListProps<Kind> & {
    readonly page: string;
    readonly kinds: readonly { readonly value: Kind; readonly label: string }[];
    readonly hint: string;
    /** The page size and the columns of the list. */
    readonly options: Child;
  },
) {
  const { view, month, query, problems } = props;
  const { messages } = view;
  const text = messages.segments;
  return (
    <search class="list-bar">
      <form class="segment-filters" method="get" action={props.page}>
        <input type="hidden" name="month" value={month.id} />
        <SelectField
          name="kind"
          label={text.kind}
          value={query.kind}
          prompt={messages.common.all}
          options={props.kinds}
          problems={problems}
        />
        <TextField
          view={view}
          name="resource"
          label={text.resource}
          value={query.resource}
          problems={problems}
          mono
          maxlength={100}
          attributes={{ placeholder: "srv_…" }}
        />
        <SelectField
          name="region"
          label={messages.common.region}
          value={query.region}
          prompt={messages.listFilters.allRegions}
          options={props.regions.map(({ slug, name }) => ({ value: slug, label: name }))}
          problems={problems}
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
        <p class="hint">{props.hint}</p>
      </form>
      {props.options}
    </search>
  );
}
