import { noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { CreatePublicIpPageProps } from "./props.ts";

/** The form of one more address. */
export function CreatePublicIp({ view, regions, form, idempotencyKey }: CreatePublicIpPageProps) {
  const { messages } = view;
  const text = messages.publicIps;
  const problems = form?.problems ?? noProblems;
  return (
    <form class="form" method="post" action="/public-ips/new">
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <div class="field" data-invalid={problems.region === undefined ? undefined : "true"}>
        <label for="field-region">{messages.common.region}</label>
        <select id="field-region" name="region">
          {regions.map(({ slug, name }) => (
            <option value={slug} selected={form?.values.region === slug}>
              {name}
            </option>
          ))}
        </select>
        <Problem name="region" problems={problems.region} />
      </div>
      <div class="field">
        <label for="field-version">{text.version}</label>
        <select id="field-version" name="version">
          {["4", "6"].map((version) => (
            <option value={version} selected={form?.values.version === version}>
              {`IPv${version}`}
            </option>
          ))}
        </select>
      </div>
      <TextField
        view={view}
        name="ptr"
        label={text.ptr}
        value={form?.values.ptr ?? ""}
        hint={text.ptrHint}
        problems={problems}
        optional
        mono
        maxlength={253}
      />
      <MoreFields
        view={view}
        id="more-address"
        form={form}
        fields={["address", "labels", "delete_with_server", "protect"]}
      >
        <TextField
          view={view}
          name="address"
          label={text.certainAddress}
          value={form?.values.address ?? ""}
          hint={text.certainAddressHint}
          problems={problems}
          optional
          mono
          maxlength={45}
          attributes={{ placeholder: "203.0.113.7" }}
        />
        <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
        <label class="check">
          <input
            type="checkbox"
            name="delete_with_server"
            checked={(form?.values.delete_with_server ?? "") !== ""}
          />
          <span>{text.deleteWithServer}</span>
        </label>
        <label class="check">
          <input type="checkbox" name="protect" checked={(form?.values.protect ?? "") !== ""} />
          <span>{text.protect}</span>
        </label>
      </MoreFields>
      <button type="submit" class="button" data-kind="primary">
        {text.take}
      </button>
    </form>
  );
}
