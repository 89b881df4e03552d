import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { DomainTabProps } from "./props.ts";
import { domains } from "./resource.ts";

/** In the removal buffer: the remaining time, the way back, and the removal at once. */
export function PendingDeletion({ view, domain, form, idempotencyKey }: DomainTabProps) {
  const { messages, format } = view;
  const text = messages.domains;
  const { deletion } = domain;
  if (deletion === null || domain.status === "deleting") return null;
  const page = pageOf(domains, domain);
  const left = Date.parse(deletion.purge_at) - view.now.getTime();
  return (
    <section class="panel pending" aria-labelledby="pending-title">
      <div>
        <h2 id="pending-title">
          <Icon name="alert" />
          <span>
            {text.pendingLead}{" "}
            <time datetime={deletion.purge_at} data-countdown="" title={format.dateTime(deletion.purge_at)}>
              {format.duration(left)}
            </time>
          </span>
        </h2>
        <p class="hint">{text.pendingHint}</p>
      </div>
      <Offered view={view} permission="domain:delete">
        <form method="post" action={`${page}/cancel-deletion`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-restore`} />
          <ActionButton why={disabledReason(view, domain, "cancel_deletion")} kind="primary">
            {text.undo}
          </ActionButton>
        </form>
      </Offered>
      <Offered view={view} permission="domain:purge">
        <details class="confirm" open={form?.of === "purge"}>
          <summary class="button" data-kind="danger">
            {text.purge}
          </summary>
          <form id="purge" method="post" action={`${page}/purge`} {...keptForm(form, "purge")}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-purge`} />
            <p class="hint">{text.purgeHint}</p>
            <ConfirmName
              view={view}
              id="purge-name"
              name={domain.unicode_name}
              typed={typedIn(form, "purge", "confirm_name", "")}
              problems={problemsOf(form, "purge").confirm_name}
            />
            <ActionButton why={null} kind="danger">
              {text.purge}
            </ActionButton>
          </form>
        </details>
      </Offered>
    </section>
  );
}
