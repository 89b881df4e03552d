import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { NetworksPageProps } from "./props.ts";

export function CreateNetwork(props: NetworksPageProps) {
  const { view, regions } = props;
  const { messages } = view;
  const form = refusedForm(props.form, "network");
  const problems = form?.problems ?? noProblems;
  return (
    <section class="panel" aria-labelledby="create-title">
      <div class="panel-head">
        <h2 id="create-title">{messages.networks.create}</h2>
      </div>
      <form class="form" method="post" action="/networks">
        <FormSeal view={view} idempotencyKey={props.idempotencyKey} />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={form?.values.name ?? ""}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <div class="field">
          <label for="field-region">{messages.common.region}</label>
          <select id="field-region" name="region">
            {regions.map((region) => (
              <option value={region.slug} selected={form?.values.region === region.slug}>
                {region.name}
              </option>
            ))}
          </select>
          <Problem name="region" problems={problems.region} />
        </div>
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
      <ApiCall
        view={view}
        id="create-call"
        operation="createNetwork"
        body={{ name: "office", region: regions[0]?.slug ?? "ist1", labels: { env: "prod" } }}
      />
    </section>
  );
}
