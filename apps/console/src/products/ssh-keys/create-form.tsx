import type { Schemas } from "@kule/contract/schemas";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { listPath } from "../../resources/resource.ts";
import type { CreateSshKeyPageProps } from "./props.ts";
import { sshKeys } from "./resource.ts";

/** The form of a public key. */
export function CreateSshKey({ view, form, existing, idempotencyKey }: CreateSshKeyPageProps) {
  const { messages } = view;
  const problems = form?.problems ?? noProblems;
  return (
    <form class="form" method="post" action="/ssh-keys/new">
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <TextField
        view={view}
        name="name"
        label={messages.create.keyName}
        value={form?.values.name ?? ""}
        problems={problems}
        required
        maxlength={100}
        autofocus={form === null || problems.name !== undefined}
      />
      <TextField
        view={view}
        name="public_key"
        label={messages.create.keyText}
        value={form?.values.public_key ?? ""}
        hint={messages.create.keyTextHint}
        problems={problems}
        rows={4}
        mono
        required
        maxlength={16384}
      />
      {existing === null ? null : <ExistingKey view={view} existing={existing} />}
      <MoreFields view={view} id="more-key" form={form} fields={["labels"]}>
        <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
      </MoreFields>
      <button type="submit" class="button" data-kind="primary">
        {messages.sshKeys.add}
      </button>
    </form>
  );
}

/** A link to the row of the key in the list, on whichever page of the list it is. */
function ExistingKey(props: { readonly view: View; readonly existing: Schemas["SshKey"] }) {
  const { id, name } = props.existing;
  return (
    <p>
      <a href={`${listPath(sshKeys)}?${new URLSearchParams({ q: name })}#${id}`}>
        {props.view.messages.sshKeys.showExisting(name)}
      </a>
    </p>
  );
}
