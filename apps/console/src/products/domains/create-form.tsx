import { noProblems, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { FileProblems } from "./file-problems-part.tsx";
import type { CreateDomainPageProps } from "./props.ts";

export function CreateDomain({ view, form, fileProblems, idempotencyKey }: CreateDomainPageProps) {
  const { messages } = view;
  const text = messages.domains;
  const problems = form?.problems ?? noProblems;
  const value = (name: string) => form?.values[name] ?? "";
  return (
    <form class="form" method="post" action="/domains/new">
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <TextField
        view={view}
        name="name"
        label={text.name}
        value={value("name")}
        hint={text.nameHint}
        problems={problems}
        autofocus={form === null || problems.name !== undefined}
        required
        mono
        maxlength={255}
        attributes={{ placeholder: "example.com" }}
      />
      <TextField
        view={view}
        name="description"
        label={messages.common.description}
        value={value("description")}
        problems={problems}
        optional
        maxlength={500}
      />
      <MoreFields view={view} id="more-domain" form={form} fields={["ttl", "zone_file", "labels"]}>
        <TextField
          view={view}
          name="zone_file"
          label={text.zoneFile}
          value={value("zone_file")}
          hint={text.zoneFileHint}
          problems={fileProblems.length === 0 ? problems : noProblems}
          optional
          mono
          rows={8}
          attributes={{ placeholder: "www 300 IN A 192.0.2.10", wrap: "off" }}
        >
          <FileProblems view={view} problems={fileProblems} more={0} />
        </TextField>
        <TextField
          view={view}
          name="ttl"
          label={text.ttl}
          value={value("ttl")}
          hint={text.ttlHint}
          problems={problems}
          optional
          mono
          maxlength={6}
          attributes={{ inputmode: "numeric", placeholder: text.ttlPlaceholder }}
        />
        <LabelsField view={view} value={value("labels")} problems={problems} />
      </MoreFields>
      <button type="submit" class="button" data-kind="primary">
        {text.create}
      </button>
    </form>
  );
}
