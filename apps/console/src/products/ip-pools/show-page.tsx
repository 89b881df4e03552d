import { noProblems, TextField } from "../../layout/fields.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { refusedForm } from "../../refused-form.ts";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { pageOf } from "../../resources/resource.ts";
import { AddressBar } from "./address-bar-part.tsx";
import { AllocateForm, Allocations, Shares } from "./allocations-panel.tsx";
import { PoolCalls } from "./calls.tsx";
import type { PoolPageProps } from "./props.ts";
import { ipPools } from "./resource.ts";

export function PoolPage(props: PoolPageProps) {
  const { view, pool, banner } = props;
  const { messages } = view;
  const text = messages.ipPools;
  const { allocated, taken, quarantined } = pool.addresses;
  const held = allocated + taken + quarantined;
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
      <DeletePanel
        view={view}
        resource={ipPools}
        item={pool}
        why={held === 0 ? null : text.deleteInUse(view.format.number(held))}
        form={props.form}
        idempotencyKey={props.idempotencyKey}
      />
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
      <form class="form" method="post" action={`${pageOf(ipPools, pool)}/settings`}>
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
