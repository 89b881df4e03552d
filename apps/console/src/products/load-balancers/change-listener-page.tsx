import { ActionButton } from "../../layout/action-button.tsx";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { CreateFrame } from "../../layout/create-frame.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { listCrumbs, pageOf } from "../../resources/resource.ts";
import { exampleListener } from "./calls.ts";
import { disabledReason } from "./disabled-reason.ts";
import { HealthCheckFields, ListenerFields, MoreListenerFields } from "./listener-fields.tsx";
import { type ListenerValues, listenerBody, newListener, valuesOf } from "./listener-values.ts";
import type { ListenerPageProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";
import { listenerName } from "./status.ts";

/** A new listener of a load balancer, or one that is edited and can be removed. */
export function ListenerPage(props: ListenerPageProps) {
  const { view, balancer, listener, banner } = props;
  const text = view.messages.loadBalancers.listeners;
  const page = pageOf(loadBalancers, balancer);
  const path = { load_balancer_id: balancer.id };
  return (
    <CreateFrame
      view={view}
      section={loadBalancers.section}
      crumbs={[...listCrumbs(loadBalancers, view.messages), { path: page, text: balancer.name }]}
      title={listener === null ? text.add : text.editing(listenerName(view, listener))}
      lead={text.lead}
      banner={banner}
    >
      <ListenerForm {...props} page={page} />
      {listener === null ? (
        <ApiCall view={view} id="create-call" operation="createListener" path={path} body={exampleListener} />
      ) : (
        <ApiCall
          view={view}
          id="change-call"
          operation="updateListener"
          path={{ ...path, listener_id: listener.id }}
          body={listenerBody(valuesOf(listener))}
        />
      )}
    </CreateFrame>
  );
}

function ListenerForm(props: ListenerPageProps & { readonly page: string }) {
  const { view, balancer, listener, page, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.loadBalancers.listeners;
  const form = refusedForm(props.form, "listener");
  const shown = {
    view,
    values: {
      ...(listener === null ? newListener : valuesOf(listener)),
      // A checkbox that was not sent is off.
      ...(form === null ? {} : (form.values as ListenerValues)),
    },
    problems: form?.problems ?? noProblems,
  };
  const why = disabledReason(view, balancer, "change");
  return (
    <form
      id="listener-form"
      class="form listener-form"
      method="post"
      action={`${page}/listeners/${listener?.id ?? "new"}`}
      novalidate
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-listener`} />
      <ListenerFields {...shown} certificates={props.certificates} region={balancer.region} />
      <div class="of-targets fields">
        <HealthCheckFields {...shown} />
      </div>
      <MoreListenerFields {...shown} />
      <div class="balancer-acts">
        <ActionButton why={why} kind="primary">
          {listener === null ? text.add : text.save}
        </ActionButton>
        <a class="button" href={page}>
          {messages.common.cancel}
        </a>
      </div>
    </form>
  );
}
