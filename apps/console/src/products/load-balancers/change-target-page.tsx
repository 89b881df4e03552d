import { ActionButton } from "../../layout/action-button.tsx";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { CreateFrame } from "../../layout/create-frame.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { listCrumbs, pageOf } from "../../resources/resource.ts";
import { exampleTarget } from "./calls.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { TargetPageProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";
import { TargetKindFields, TargetShareFields } from "./target-fields.tsx";
import { targetName } from "./target-name.ts";
import { newTarget, type TargetValues, targetChange, valuesOfTarget } from "./target-values.ts";

/** A new target of a load balancer, or one whose share of the traffic is changed. */
export function TargetPage(props: TargetPageProps) {
  const { view, balancer, target, servers, banner } = props;
  const text = view.messages.loadBalancers.targets;
  const page = pageOf(loadBalancers, balancer);
  const path = { load_balancer_id: balancer.id };
  return (
    <CreateFrame
      view={view}
      section={loadBalancers.section}
      crumbs={[...listCrumbs(loadBalancers, view.messages), { path: page, text: balancer.name }]}
      title={target === null ? text.add : text.editing(targetName(target, servers))}
      lead={text.lead}
      banner={banner}
    >
      <TargetForm {...props} page={page} />
      {target === null ? (
        <ApiCall view={view} id="create-call" operation="createTarget" path={path} body={exampleTarget} />
      ) : (
        <ApiCall
          view={view}
          id="change-call"
          operation="updateTarget"
          path={{ ...path, target_id: target.id }}
          body={targetChange(valuesOfTarget(target))}
        />
      )}
    </CreateFrame>
  );
}

function TargetForm(props: TargetPageProps & { readonly page: string }) {
  const { view, balancer, target, servers, page, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.loadBalancers.targets;
  const form = refusedForm(props.form, "target");
  const shown = {
    view,
    values: {
      ...(target === null ? newTarget : valuesOfTarget(target)),
      // A checkbox that was not sent is off.
      ...(form === null ? {} : (form.values as TargetValues)),
    },
    problems: form?.problems ?? noProblems,
  };
  return (
    <form
      id="target-form"
      class="form target-form"
      method="post"
      action={`${page}/targets/${target?.id ?? "new"}`}
      novalidate
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-target`} />
      {target === null ? <TargetKindFields {...shown} servers={servers} /> : null}
      <TargetShareFields {...shown} />
      <div class="balancer-acts">
        <ActionButton why={disabledReason(view, balancer, "change")} kind="primary">
          {target === null ? text.add : text.save}
        </ActionButton>
        <a class="button" href={page}>
          {messages.common.cancel}
        </a>
      </div>
    </form>
  );
}
