import { connectionsOf } from "@kule/rules/load-balancers/machine-size";
import { ActionButton } from "../../layout/action-button.tsx";
import { SelectField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { CheckOutcome } from "../servers/check-outcome-part.tsx";
import { disabledReason } from "./disabled-reason.ts";
import type { SettingsProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";

/** The package of its servers: what another one means is said while it is chosen. */
export function BalancerSize(props: SettingsProps) {
  const { view, balancer, catalog, resize, form, idempotencyKey } = props;
  const { messages, format } = view;
  const text = messages.loadBalancers.resize;
  const action = `${pageOf(loadBalancers, balancer)}/resize`;
  const sizeOf = (slug: string) => catalog.packages.find((each) => each.slug === slug);
  const connections = (slug: string) => format.number(connectionsOf(sizeOf(slug)?.memory_mb ?? 0));
  return (
    <section class="panel" id="resize" aria-labelledby="resize-title" {...keptForm(form, "resize")}>
      <div class="panel-head">
        <h2 id="resize-title">{text.title}</h2>
      </div>
      <form id="resize-form" class="form" method="post" action={action} data-redraw={`${action}/preview`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-resize`} />
        <div
          hx-post={`${action}/preview`}
          hx-trigger="change delay:80ms"
          hx-target="#resize-form"
          hx-select="#resize-form"
          hx-swap="outerMorph"
          hx-sync="this:replace"
        >
          <SelectField
            name="package"
            label={messages.loadBalancers.size}
            value={resize.package}
            options={catalog.packages.map(({ slug, vcpu, memory_mb }) => ({
              value: slug,
              label: `${slug.toUpperCase()} · ${messages.create.vcpu(format.number(vcpu))} · ${format.memory(memory_mb)}`,
            }))}
            hint={text.hint}
            problems={problemsOf(form, "resize")}
          />
        </div>
        {resize.changesNothing ? (
          <p class="hint">{text.changesNothing}</p>
        ) : (
          <>
            <p class="hint">{balancer.ha ? text.two : text.one}</p>
            <p class="hint">{text.connections(connections(balancer.package), connections(resize.package))}</p>
            <div aria-live="polite">
              <CheckOutcome view={view} check={resize.check} texts={text} />
            </div>
          </>
        )}
        {/* Without a script nothing tells that another size was chosen: the API refuses the same one. */}
        <ActionButton why={disabledReason(view, balancer, "resize")}>{text.button}</ActionButton>
      </form>
    </section>
  );
}
