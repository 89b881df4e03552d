import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { OrganisationCreatePageProps } from "./props.ts";

export function CreateOrganisation({ view, form, idempotencyKey }: OrganisationCreatePageProps) {
  const { messages } = view;
  const text = messages.organisations;
  const problems = form?.problems ?? noProblems;
  return (
    <>
      <form class="form" method="post" action="/organisations/new">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={form?.values.name ?? ""}
          problems={problems}
          required
          maxlength={100}
          autofocus={form === null || problems.name !== undefined}
        />
        <TextField
          view={view}
          name="slug"
          label={text.slug}
          value={form?.values.slug ?? ""}
          hint={text.slugHint}
          problems={problems}
          required
          mono
          maxlength={40}
        />
        <button type="submit" class="button" data-kind="primary">
          {text.create}
        </button>
      </form>
      <ApiCall
        view={view}
        id="create-call"
        operation="createOrganisation"
        body={{ slug: form?.values.slug || "acme", name: form?.values.name || "Acme Hosting" }}
      />
    </>
  );
}
