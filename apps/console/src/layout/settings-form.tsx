import { keptForm, type RefusedForm, refusedForm } from "../refused-form.ts";
import { ActButton } from "./act-button.tsx";
import { noProblems, TextField } from "./fields.tsx";
import { Icon } from "./icons.tsx";
import { FormSeal } from "./parts.tsx";
import type { View } from "./view.ts";

/** Name and description of a resource, to be changed in place. */
export function SettingsForm(props: {
  readonly view: View;
  /** The page of the resource. */
  readonly page: string;
  readonly resource: { readonly name: string; readonly description: string };
  readonly why: string | null;
  readonly form: RefusedForm | null;
  readonly idempotencyKey: string;
}) {
  const { view, page, resource, why, idempotencyKey } = props;
  const { common } = view.messages;
  const form = refusedForm(props.form, "settings");
  const problems = form?.problems ?? noProblems;
  return (
    <details class="add-inline" id="settings" open={form !== null} {...keptForm(form, "settings")}>
      <summary>
        <Icon name="pencil" size={15} />
        {common.changeSettings}
      </summary>
      <form class="form" method="post" action={`${page}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={common.name}
          value={form?.values.name ?? resource.name}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <TextField
          view={view}
          name="description"
          label={common.description}
          value={form?.values.description ?? resource.description}
          problems={problems}
          optional
          maxlength={500}
        />
        <ActButton why={why}>{common.save}</ActButton>
      </form>
    </details>
  );
}
