import type { Schemas } from "@kule/contract/schemas";
import { noProblems } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { refusedForm } from "../../refused-form.ts";
import { FillBar } from "../usage/bars-part.tsx";
import type { OrganisationPageProps } from "./props.ts";
import { limitText } from "./quota-amounts.ts";

/** The quotas with their use: one field for each limit. */
export function QuotasForm(props: OrganisationPageProps) {
  const { view, organisation, quotas, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.organisations;
  const refused = refusedForm(props.form, "quotas");
  return (
    <section class="panel" id="quotas" aria-labelledby="quotas-title">
      <div class="panel-head">
        <h2 id="quotas-title">{text.quotas}</h2>
      </div>
      <p class="panel-lead">{text.quotasHint}</p>
      <form method="post" action={`/organisations/${organisation.id}/quotas`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-quotas`} />
        <table class="list">
          <caption class="visually-hidden">{text.quotas}</caption>
          <thead>
            <tr>
              <th scope="col">{text.quota}</th>
              <th scope="col">{text.used}</th>
              <th scope="col">{text.limit}</th>
            </tr>
          </thead>
          <tbody>
            {quotas.items.map((quota) => (
              <QuotaRow
                view={view}
                quota={quota}
                value={refused?.values[quota.name] ?? limitText(quota)}
                problems={(refused?.problems ?? noProblems)[quota.name]}
              />
            ))}
          </tbody>
        </table>
        <div class="acts">
          <button type="submit" class="button" data-kind="primary">
            {text.saveQuotas}
          </button>
        </div>
      </form>
    </section>
  );
}

function QuotaRow(props: {
  readonly view: View;
  readonly quota: Schemas["Quota"];
  readonly value: string;
  readonly problems: readonly string[] | undefined;
}) {
  const { view, quota, value, problems } = props;
  const { messages } = view;
  const text = messages.organisations;
  const name = messages.usage.quotaNames[quota.name];
  const problemId = `${quota.name}-problem`;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-label={text.used}>
        <div class="fill-cell">
          <span class="figures">{amount(view, quota, quota.used)}</span>
          <FillBar label={name} used={quota.used} limit={quota.limit} />
          {quota.reserved === 0 ? null : (
            <span class="hint">{text.reserved(amount(view, quota, quota.reserved))}</span>
          )}
          {quota.limit !== null && quota.used > quota.limit ? <span class="problem">{text.over}</span> : null}
        </div>
      </td>
      <td data-label={text.limit}>
        <div class="field" data-invalid={problems === undefined ? undefined : "true"}>
          <div class="limit-input" data-invalid={problems === undefined ? undefined : "true"}>
            <input
              type="text"
              name={quota.name}
              class="mono"
              inputmode="decimal"
              maxlength={12}
              autocomplete="off"
              value={value}
              placeholder={text.noLimit}
              aria-label={text.limitOf(name)}
              aria-invalid={problems === undefined ? undefined : "true"}
              aria-describedby={problems === undefined ? undefined : problemId}
            />
            {quota.unit === "count" ? null : <span class="hint">GB</span>}
          </div>
          {problems === undefined ? null : (
            <p class="problem" id={problemId}>
              {problems.join(" ")}
            </p>
          )}
        </div>
      </td>
    </tr>
  );
}

function amount({ format }: View, { unit }: Schemas["Quota"], value: number): string {
  if (unit === "MB") return format.memory(value);
  return unit === "GB" ? format.disk(value) : format.number(value);
}
