import { ActionButton } from "../../layout/action-button.tsx";
import { SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { algorithms } from "./create-values.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { BalancerTabProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";

/** The load balancer's name, description and algorithm. */
export function BalancerSettings({ view, balancer, form, idempotencyKey }: BalancerTabProps) {
  const { messages } = view;
  const { common, loadBalancers: text } = messages;
  const problems = problemsOf(form, "settings");
  const typed = (name: "name" | "description" | "algorithm") =>
    typedIn(form, "settings", name, balancer[name]);
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title" {...keptForm(form, "settings")}>
      <div class="panel-head">
        <h2 id="settings-title">{messages.resourceTabs.tabs.settings}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(loadBalancers, balancer)}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={common.name}
          value={typed("name")}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <TextField
          view={view}
          name="description"
          label={common.description}
          value={typed("description")}
          problems={problems}
          optional
          maxlength={500}
        />
        <SelectField
          name="algorithm"
          label={text.algorithm}
          value={typed("algorithm")}
          options={algorithms.map((value) => ({ value, label: text.algorithms[value] }))}
          hint={text.algorithmHint}
          problems={problems}
        />
        <ActionButton why={disabledReason(view, balancer, "change")}>{common.save}</ActionButton>
      </form>
    </section>
  );
}
