import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { CreateNetworkPageProps } from "./props.ts";

export function CreateNetwork({ view, regions, form, idempotencyKey }: CreateNetworkPageProps) {
  const { messages } = view;
  const problems = form?.problems ?? noProblems;
  return (
    <form class="form" method="post" action="/networks/new">
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <TextField
        view={view}
        name="name"
        label={messages.common.name}
        value={form?.values.name ?? ""}
        problems={problems}
        autofocus={form === null}
        required
        mono
        maxlength={63}
      />
      <SelectField
        name="region"
        label={messages.common.region}
        value={form?.values.region ?? ""}
        options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
        problems={problems}
      />
      <TextField
        view={view}
        name="cidr"
        label={messages.networks.cidr}
        value={form?.values.cidr ?? ""}
        hint={messages.networks.cidrHint}
        problems={problems}
        optional
        mono
        maxlength={18}
      />
      <TextField
        view={view}
        name="description"
        label={messages.common.description}
        value={form?.values.description ?? ""}
        problems={problems}
        optional
        maxlength={500}
      />
      <MoreFields view={view} id="more-network" form={form} fields={["labels"]}>
        <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
      </MoreFields>
      <button type="submit" class="button" data-kind="primary">
        {messages.networks.create}
      </button>
    </form>
  );
}
