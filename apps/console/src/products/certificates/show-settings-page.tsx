import { notAllowed, Offered } from "../../layout/action-button.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { LabelsPanel } from "../../resources/labels-panel.tsx";
import { callsOf, pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { CertificateSettings } from "./change-form.tsx";
import { deletionReason } from "./disabled-reason.ts";
import { headedCertificates } from "./head-part.tsx";
import type { CertificateTabProps } from "./props.ts";
import { certificates } from "./resource.ts";

/** Its name and labels; deletion. */
export function SettingsPage(props: CertificateTabProps) {
  const { view, certificate, banner, form, idempotencyKey } = props;
  const forms = { view, resource: certificates, item: certificate, form, idempotencyKey };
  return (
    <ResourcePage
      view={view}
      resource={certificates}
      item={certificate}
      head={headedCertificates.headOf(view, certificate, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={Object.values(callsOf(certificates, certificate))}
    >
      <Offered view={view} permission="certificate:update">
        <CertificateSettings {...props} />
        <LabelsPanel {...forms} why={notAllowed(view, "certificate:update")} />
      </Offered>
      <Offered view={view} permission="certificate:delete">
        <DeletePanel {...forms} why={deletionReason(view, certificate)}>
          {certificate.used_by.length === 0 ? null : (
            <p>
              <a href={`${pageOf(certificates, certificate)}#used-by`}>{view.messages.certificates.usedBy}</a>
            </p>
          )}
        </DeletePanel>
      </Offered>
    </ResourcePage>
  );
}
