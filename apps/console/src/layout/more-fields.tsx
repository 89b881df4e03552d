import type { Child } from "hono/jsx";
import type { RefusedForm } from "../refused-form.ts";
import { type FieldProblems, TextField } from "./fields.tsx";
import { Icon } from "./icons.tsx";
import type { View } from "./view.ts";

/** Fields that most people leave at their defaults. Collapsed, unless one of them was refused or has a value. */
export function MoreFields(props: {
  readonly view: View;
  readonly id: string;
  readonly form: RefusedForm | null;
  /** The names of its fields. */
  readonly fields: readonly string[];
  readonly children: Child;
}) {
  const { view, id, form, fields } = props;
  const isUsed =
    form !== null &&
    fields.some((name) => (form.values[name] ?? "") !== "" || form.problems[name] !== undefined);
  return (
    <details class="add-inline" id={id} open={isUsed}>
      <summary>
        <Icon name="plus" size={16} />
        {view.messages.common.more}
      </summary>
      {props.children}
    </details>
  );
}

/** The labels of a create form, in one line: `env=prod, role=web`. */
export function LabelsField(props: {
  readonly view: View;
  /** Distinguishes several fields of the same name on a page. */
  readonly id?: string;
  readonly value: string;
  readonly problems: FieldProblems;
}) {
  // The filter of a list has the same name, and so has its error.
  const { view, id = "new-labels", value, problems } = props;
  const { labels } = view.messages;
  return (
    <TextField
      view={view}
      id={id}
      name="labels"
      label={labels.title}
      value={value}
      hint={labels.typedHint}
      problems={problems}
      optional
      mono
      maxlength={2000}
      attributes={{ placeholder: "env=prod, role=web" }}
    />
  );
}
