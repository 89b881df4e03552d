import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { MoreFields } from "../../layout/more-fields.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { RegionFields, RestrictedTo } from "./region-fields.tsx";
import { type RegionValues, toCreateBody } from "./region-form.ts";

export type RegionCreatePageProps = {
  readonly view: View;
  readonly values: RegionValues;
  readonly organisations: readonly Schemas["Organisation"][];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

const modes = ["agent", "direct"] as const;

/** The first of three steps to a region of one's own; the page that comes next has the other two. */
export function RegionCreatePage(props: RegionCreatePageProps) {
  const { view, values, organisations, form, banner, idempotencyKey } = props;
  const text = view.messages.regionAdmin;
  const problems = form?.problems ?? noProblems;
  return (
    <Shell view={view} title={text.create} section="operator">
      <OperatorTabs view={view} current="regions" />
      <PageHead title={text.create} lead={text.createLead} />
      <PageNotice banner={banner} />
      <section class="panel">
        <form class="form" data-wide="" method="post" action="/operator/regions">
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
      </section>
      <ApiCall
        view={view}
        id="region-call"
        operation="createRegion"
        body={toCreateBody({ ...values, slug: values.slug || "izm1", name: values.name || "İzmir 1" }, [])}
      />
    </Shell>
  );
}
