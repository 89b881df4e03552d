import { noProblems, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import type { PoolTabProps } from "./props.ts";
import { ipPools } from "./resource.ts";

/** The pool's name, its description and the pattern of its reverse names. */
export function PoolSettings({ view, pool, form, idempotencyKey }: PoolTabProps) {
  const { messages } = view;
  const text = messages.ipPools;
  const refused = refusedForm(form, "settings");
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title">
      <div class="panel-head">
        <h2 id="settings-title">{text.settings}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(ipPools, pool)}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={refused?.values.name ?? pool.name}
          problems={refused?.problems ?? noProblems}
          required
          maxlength={100}
        />
        <TextField
          view={view}
          name="description"
          label={messages.common.description}
          value={refused?.values.description ?? pool.description}
          problems={refused?.problems ?? noProblems}
          optional
          maxlength={500}
        />
        <TextField
          view={view}
          name="reverse_name"
          label={text.reverseName}
          value={refused?.values.reverse_name ?? pool.reverse_name ?? ""}
          hint={text.reverseNameHint}
          problems={refused?.problems ?? noProblems}
          optional
          mono
          maxlength={255}
          attributes={{ placeholder: "*.static.example.net" }}
        />
        <button type="submit" class="button">
          {messages.common.save}
        </button>
      </form>
    </section>
  );
}
