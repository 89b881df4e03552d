import type { Schemas } from "@kule/contract/schemas";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { type RefusedForm, refusedForm } from "../../refused-form.ts";
import { AddressBar } from "./address-bar.tsx";
import { AllocateForm, Allocations, Shares } from "./allocations.tsx";
import { PoolCalls } from "./pool-calls.tsx";

export type PoolPageProps = {
  readonly view: View;
  readonly pool: Schemas["IpPool"];
  readonly shares: Schemas["IpPoolUtilisation"]["organisations"];
  readonly ranges: readonly Schemas["IpPoolRange"][];
  readonly allocations: Schemas["IpPoolAllocationList"];
  readonly organisations: readonly Schemas["Organisation"][];
  readonly cursor: string | undefined;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export function PoolPage(props: PoolPageProps) {
  const { view, pool, banner } = props;
  const { messages } = view;
  const text = messages.ipPools;
  return (
    <Shell view={view} title={pool.name} section="operator">
      <OperatorTabs view={view} current="ipPools" />
      <PageHead title={pool.name} lead={pool.description === "" ? text.lead : pool.description} />
      <PageNotice banner={banner} />
      <section class="panel" aria-labelledby="use-title">
        <div class="panel-head">
          <h2 id="use-title">{text.utilisation}</h2>
          <span class="tag">{`IPv${pool.version}`}</span>
        </div>
        <p class="panel-lead">
          {pool.region} · <span class="mono">{`${pool.gateway}/${pool.prefix_length}`}</span>
          {pool.vlan === null ? null : ` · VLAN ${pool.vlan}`}
        </p>
        {pool.addresses.total === 0 ? (
          <p class="hint">{text.noAddresses}</p>
        ) : (
          <AddressBar view={view} addresses={pool.addresses} legend />
        )}
        <Shares {...props} />
      </section>
      <Ranges {...props} />
      <AllocateForm {...props} />
      <Allocations {...props} />
      <Settings {...props} />
      <DeletePool {...props} />
      <PoolCalls {...props} />
    </Shell>
  );
}

function Ranges(props: PoolPageProps) {
  const { view, pool, ranges, idempotencyKey } = props;
  const { messages, format } = view;
  const text = messages.ipPools;
  const adding = refusedForm(props.form, "range");
  return (
    <section class="panel" id="ranges" aria-labelledby="ranges-title">
      <div class="panel-head">
        <h2 id="ranges-title">{text.ranges}</h2>
      </div>
      {ranges.length === 0 ? (
        <p class="hint">{text.noRanges}</p>
      ) : (
        <ul class="rows">
          {ranges.map((range) => {
            const problems = refusedForm(props.form, range.id)?.problems.range;
            return (
              <li>
                <form
                  class="row-form"
                  method="post"
                  action={`/ip-pools/${pool.id}/ranges/${range.id}/remove`}
                >
                  <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${range.id}`} />
                  <div>
                    <span class="mono anywhere">{`${range.start} – ${range.end}`}</span>
                    <span class="hint">{text.addresses(format.number(range.size))}</span>
                  </div>
                  <button type="submit" class="button" aria-label={text.removeNamed(range.start)}>
                    {text.remove}
                  </button>
                  {problems === undefined ? null : (
                    <p class="problem" role="alert">
                      {problems.join(" ")}
                    </p>
                  )}
                </form>
              </li>
            );
          })}
        </ul>
      )}
      <details class="add-inline" open={adding !== null || ranges.length === 0}>
        <summary>{text.addRange}</summary>
        <form class="form" method="post" action={`/ip-pools/${pool.id}/ranges`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-range`} />
          <TextField
            view={view}
            name="range"
            label={text.range}
            value={adding?.values.range ?? ""}
            hint={text.rangeHint}
            problems={adding?.problems ?? noProblems}
            required
            mono
            maxlength={100}
          />
          <button type="submit" class="button" data-kind={ranges.length === 0 ? "primary" : undefined}>
            {text.addRange}
          </button>
        </form>
      </details>
    </section>
  );
}

function Settings({ view, pool, form, idempotencyKey }: PoolPageProps) {
  const { messages } = view;
  const text = messages.ipPools;
  const refused = refusedForm(form, "settings");
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title">
      <div class="panel-head">
        <h2 id="settings-title">{text.settings}</h2>
      </div>
      <form class="form" method="post" action={`/ip-pools/${pool.id}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={refused?.values.name ?? pool.name}
          problems={refused?.problems ?? noProblems}
          required
          maxlength={100}
        />
        <TextField
          view={view}
          name="description"
          label={messages.common.description}
          value={refused?.values.description ?? pool.description}
          problems={refused?.problems ?? noProblems}
          optional
          maxlength={500}
        />
        <button type="submit" class="button">
          {messages.common.save}
        </button>
      </form>
    </section>
  );
}

function DeletePool({ view, pool, form, idempotencyKey }: PoolPageProps) {
  const { messages, format } = view;
  const text = messages.ipPools;
  const { allocated, taken, quarantined } = pool.addresses;
  const held = allocated + taken + quarantined;
  const refused = refusedForm(form, "delete");
  return (
    <section class="panel danger" id="delete" aria-labelledby="delete-title">
      <div class="panel-head">
        <h2 id="delete-title">{text.delete}</h2>
      </div>
      <form class="danger-row" method="post" action={`/ip-pools/${pool.id}/delete`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
        <div>
          <p>{text.deleteLead}</p>
          {held === 0 ? (
            <TextField
              view={view}
              name="confirm_name"
              label={text.deleteConfirm(pool.name)}
              value={refused?.values.confirm_name ?? ""}
              problems={refused?.problems ?? noProblems}
              required
              attributes={{ "data-confirm": pool.name }}
            />
          ) : null}
        </div>
        <div class="act">
          <button type="submit" class="button" data-kind="danger" disabled={held > 0}>
            {text.delete}
          </button>
          {held > 0 ? <p class="why">{text.deleteInUse(format.number(held))}</p> : null}
        </div>
      </form>
    </section>
  );
}
