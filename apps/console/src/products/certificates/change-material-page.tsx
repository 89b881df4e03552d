import { ActionButton, notAllowed } from "../../layout/action-button.tsx";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { CreateFrame } from "../../layout/create-frame.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { listCrumbs, pageOf } from "../../resources/resource.ts";
import { exampleMaterial } from "./calls.ts";
import { MaterialFields } from "./material-fields.tsx";
import type { CertificateTabProps } from "./props.ts";
import { certificates } from "./resource.ts";

/** Another certificate and key in place of those of an uploaded certificate. */
export function MaterialPage({ view, certificate, form: sent, banner, idempotencyKey }: CertificateTabProps) {
  const { messages } = view;
  const text = messages.certificates;
  const page = pageOf(certificates, certificate);
  const form = refusedForm(sent, "material");
  return (
    <CreateFrame
      view={view}
      section={certificates.section}
      crumbs={[...listCrumbs(certificates, messages), { path: page, text: certificate.name }]}
      title={text.material.replace}
      lead={text.material.replaceLead}
      banner={banner}
    >
      <form class="form wide-form" method="post" action={`${page}/material`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-material`} />
        <MaterialFields
          view={view}
          values={form?.values ?? {}}
          problems={form?.problems ?? noProblems}
          required
        />
        <div class="material-acts">
          <ActionButton why={notAllowed(view, "certificate:update")} kind="primary">
            {text.material.replace}
          </ActionButton>
          <a class="button" href={page}>
            {messages.common.cancel}
          </a>
        </div>
      </form>
      <ApiCall
        view={view}
        id="change-call"
        operation="replaceCertificateMaterial"
        path={{ certificate_id: certificate.id }}
        body={exampleMaterial}
      />
    </CreateFrame>
  );
}
