import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { CreatePoolPageProps } from "./props.ts";

/** The form of a pool. */
export function CreatePool({ view, regions, form, idempotencyKey }: CreatePoolPageProps) {
  const { messages } = view;
  const text = messages.ipPools;
  const problems = form?.problems ?? noProblems;
  const value = (name: string) => form?.values[name] ?? "";
  return (
    <form class="form" method="post" action="/ip-pools/new">
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <div class="form-row">
        <SelectField
          name="region"
          label={messages.common.region}
          value={value("region")}
          options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
          problems={problems}
        />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={value("name")}
          problems={problems}
          required
          maxlength={100}
          autofocus={form === null || problems.name !== undefined}
        />
      </div>
      <TextField
        view={view}
        name="gateway"
        label={text.gateway}
        value={value("gateway")}
        hint={text.gatewayHint}
        problems={problems}
        required
        mono
        maxlength={45}
      />
      <div class="form-row">
        <TextField
          view={view}
          name="prefix_length"
          label={text.prefixLength}
          value={form === null ? "24" : value("prefix_length")}
          problems={problems}
          required
          mono
          maxlength={3}
          attributes={{ inputmode: "numeric" }}
        />
        <TextField
          view={view}
          name="vlan"
          label="VLAN"
          value={value("vlan")}
          hint={text.vlanHint}
          problems={problems}
          optional
          mono
          maxlength={4}
          attributes={{ inputmode: "numeric" }}
        />
      </div>
      <TextField
        view={view}
        name="reverse_name"
        label={text.reverseName}
        value={value("reverse_name")}
        hint={text.reverseNameHint}
        problems={problems}
        optional
        mono
        maxlength={255}
        attributes={{ placeholder: "*.static.example.net" }}
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
      <button type="submit" class="button" data-kind="primary">
        {text.create}
      </button>
    </form>
  );
}
