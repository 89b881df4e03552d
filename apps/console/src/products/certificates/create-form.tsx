import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { createPath } from "../../resources/resource.ts";
import { certificateTypes, challengeKinds } from "./create-values.ts";
import { MaterialFields } from "./material-fields.tsx";
import type { CreateCertificatePageProps } from "./props.ts";
import { certificates } from "./resource.ts";

/** The form of a certificate. The stylesheet shows only the fields of the chosen type. */
export function CreateCertificate({ view, form, regions, idempotencyKey }: CreateCertificatePageProps) {
  const { messages } = view;
  const text = messages.certificates;
  const problems = form?.problems ?? noProblems;
  const value = (name: string) => form?.values[name] ?? "";
  // A region that does not answer can seal no key, which would have to be pasted again.
  const firstRegion = (regions.find(({ status }) => status === "ok") ?? regions[0])?.slug ?? "";
  return (
    <form class="form wide-form certificate-form" method="post" action={createPath(certificates)}>
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <TextField
        view={view}
        name="name"
        label={messages.common.name}
        value={value("name")}
        problems={problems}
        autofocus={form === null || problems.name !== undefined}
        required
        maxlength={100}
      />
      <SelectField
        name="region"
        label={messages.common.region}
        value={value("region") || firstRegion}
        options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
        hint={text.regionHint}
        problems={problems}
      />
      <SelectField
        name="type"
        label={text.type}
        value={value("type") || "uploaded"}
        options={certificateTypes.map((type) => ({ value: type, label: text.typeChoices[type] }))}
        hint={text.typeHint}
        problems={problems}
      />
      <div class="fields" data-type-of="uploaded">
        <MaterialFields view={view} values={form?.values ?? {}} problems={problems} />
      </div>
      <div class="fields" data-type-of="managed">
        <TextField
          view={view}
          name="domain_names"
          label={text.names}
          value={value("domain_names")}
          hint={text.namesHint}
          problems={problems}
          mono
          rows={4}
          maxlength={25_600}
          attributes={{ placeholder: "example.com\nwww.example.com" }}
        />
        <SelectField
          name="challenge"
          label={text.challenge}
          value={value("challenge") || "dns"}
          options={challengeKinds.map((kind) => ({ value: kind, label: text.challenges[kind] }))}
          hint={text.challengeHint}
          problems={problems}
        />
      </div>
      <MoreFields view={view} id="more-certificate" form={form} fields={["labels"]}>
        <LabelsField view={view} value={value("labels")} problems={problems} />
      </MoreFields>
      <button type="submit" class="button" data-kind="primary">
        {text.create}
      </button>
    </form>
  );
}
