import { noProblems, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { OrganisationsPageProps } from "./props.ts";

export function CreateOrganisation({ view, form, idempotencyKey }: OrganisationsPageProps) {
  const { messages } = view;
  const text = messages.organisations;
  return (
    <section class="panel" aria-labelledby="create-title">
      <div class="panel-head">
        <h2 id="create-title">{text.create}</h2>
      </div>
      <form class="form" method="post" action="/organisations/new">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div class="form-row">
          <TextField
            view={view}
            name="name"
            label={messages.common.name}
            value={form?.values.name ?? ""}
            problems={form?.problems ?? noProblems}
            required
            maxlength={100}
          />
          <TextField
            view={view}
            name="slug"
            label={text.slug}
            value={form?.values.slug ?? ""}
            hint={text.slugHint}
            problems={form?.problems ?? noProblems}
            required
            mono
            maxlength={40}
          />
        </div>
        <button type="submit" class="button">
          {text.create}
        </button>
      </form>
    </section>
  );
}
