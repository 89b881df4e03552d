import { noProblems, TextField } from "../../layout/fields.tsx";
import { MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { RegionCreatePageProps } from "./props.ts";
import { RegionFields, RestrictedTo } from "./region-fields.tsx";

const modes = ["agent", "direct"] as const;

/** The form of a new region. */
export function CreateRegion(props: RegionCreatePageProps) {
  const { view, values, organisations, form, idempotencyKey } = props;
  const text = view.messages.regionAdmin;
  const problems = form?.problems ?? noProblems;
  return (
    <form class="form" data-wide="" method="post" action="/operator/regions/new">
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <TextField
        view={view}
        name="slug"
        label={text.slug}
        value={values.slug}
        hint={text.slugHint}
        problems={problems}
        required
        mono
        maxlength={63}
        attributes={{ placeholder: "ist1" }}
        autofocus={form === null || problems.slug !== undefined}
      />
      <RegionFields view={view} values={values} problems={problems} />
      <fieldset class="choice">
        <legend>{text.mode}</legend>
        <div class="checks">
          {modes.map((mode) => (
            <label class="check">
              <input type="radio" name="mode" value={mode} checked={values.mode === mode} />
              <span>
                {text.modes[mode]}
                <small>{text.modeHints[mode]}</small>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      {organisations.length === 0 ? null : (
        <MoreFields view={view} id="more-region" form={form} fields={["restricted_to"]}>
          <RestrictedTo
            view={view}
            organisations={organisations}
            ticked={(form?.values.restricted_to ?? "").split(" ")}
            problems={problems}
          />
        </MoreFields>
      )}
      <button type="submit" class="button" data-kind="primary">
        {text.create}
      </button>
    </form>
  );
}
