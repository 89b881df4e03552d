import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { SshKeysPageProps } from "./props.ts";

export function CreateSshKey({ view, refused, idempotencyKey }: SshKeysPageProps) {
  const { messages } = view;
  const form = refusedForm(refused, "add");
  const problems = form?.problems ?? noProblems;
  return (
    <section class="panel" aria-labelledby="create-title">
      <div class="panel-head">
        <h2 id="create-title">{messages.sshKeys.add}</h2>
      </div>
      <form class="form" method="post" action="/ssh-keys">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <TextField
          view={view}
          name="name"
          label={messages.create.keyName}
          value={form?.values.name ?? ""}
          problems={problems}
          required
          maxlength={100}
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
        <MoreFields view={view} id="more-key" form={form} fields={["labels"]}>
          <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
        </MoreFields>
        <button type="submit" class="button" data-kind="primary">
          {messages.sshKeys.add}
        </button>
      </form>
      <ApiCall
        view={view}
        id="create-call"
        operation="createSshKey"
        body={{ name: "laptop", public_key: "ssh-ed25519 AAAA… ada@laptop", labels: { team: "ops" } }}
      />
    </section>
  );
}
