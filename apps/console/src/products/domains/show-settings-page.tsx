import { Offered } from "../../layout/action-button.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { LabelsPanel } from "../../resources/labels-panel.tsx";
import type { Resource } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { settingsCalls } from "./calls.ts";
import { DomainSettings } from "./change-form.tsx";
import { Differences } from "./differences-panel.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { headedDomains } from "./head-part.tsx";
import { PendingDeletion } from "./pending-panel.tsx";
import type { DomainTabProps } from "./props.ts";
import { domains } from "./resource.ts";
import { isProven } from "./status.ts";
import { Warnings } from "./warnings-part.tsx";

/** Its settings and labels, what differs on its name servers, and its deletion. */
export function SettingsPage(props: DomainTabProps) {
  const { view, domain, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={domains}
      item={domain}
      head={headedDomains.headOf(view, domain, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={settingsCalls(domain)}
    >
      <Warnings view={view} domain={domain} on="settings" />
      <PendingDeletion {...props} />
      <Offered view={view} permission="domain:update">
        <DomainSettings {...props} />
        <LabelsPanel
          view={view}
          resource={domains}
          item={domain}
          why={null}
          form={props.form}
          idempotencyKey={idempotencyKey}
        />
      </Offered>
      {isProven(domain) ? <Differences {...props} /> : null}
      {domain.deletion === null ? (
        <Offered view={view} permission="domain:delete">
          <DeletePanel
            view={view}
            resource={isProven(domain) ? domains : deletedAtOnce}
            item={domain}
            why={disabledReason(view, domain, "delete")}
            form={props.form}
            idempotencyKey={idempotencyKey}
          />
        </Offered>
      ) : null}
    </ResourcePage>
  );
}

/** One that is not served has no removal buffer. */
const deletedAtOnce: Resource<DomainTabProps["domain"]> = {
  ...domains,
  texts: ({ domains: text }) => ({
    all: text.all,
    delete: { title: text.delete, lead: text.deleteNowLead, button: text.delete },
  }),
};
