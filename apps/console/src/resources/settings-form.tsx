import { ActionButton } from "../layout/action-button.tsx";
import { noProblems, TextField } from "../layout/fields.tsx";
import { FormSeal } from "../layout/parts.tsx";
import type { View } from "../layout/view.ts";
import { keptForm, type RefusedForm, refusedForm } from "../refused-form.ts";
import { type AnyItem, pageOf, type Resource } from "./resource.ts";

type Described = AnyItem & { readonly name: string; readonly description: string };

/** The form for name and description of a resource. */
export function SettingsForm<Item extends Described>(props: {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  readonly why: string | null;
  readonly form: RefusedForm | null;
  readonly idempotencyKey: string;
}) {
  const { view, resource, item, why, idempotencyKey } = props;
  const { common } = view.messages;
  const form = refusedForm(props.form, "settings");
  const problems = form?.problems ?? noProblems;
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title" {...keptForm(form, "settings")}>
      <div class="panel-head">
        <h2 id="settings-title">{common.nameAndDescription}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(resource, item)}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={common.name}
          value={form?.values.name ?? item.name}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <TextField
          view={view}
          name="description"
          label={common.description}
          value={form?.values.description ?? item.description}
          problems={problems}
          optional
          maxlength={500}
        />
        <ActionButton why={why}>{common.save}</ActionButton>
      </form>
    </section>
  );
}
