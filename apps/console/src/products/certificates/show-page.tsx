import { Offered } from "../../layout/action-button.tsx";
import { Banner } from "../../layout/parts.tsx";
import { listPath, pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { overviewCalls } from "./calls.ts";
import { Facts } from "./facts-panel.tsx";
import { headedCertificates } from "./head-part.tsx";
import { Proofs } from "./proofs-panel.tsx";
import type { OverviewProps } from "./props.ts";
import { Renewal } from "./renewal-panel.tsx";
import { certificates } from "./resource.ts";
import { warningText } from "./status.ts";
import { Uses } from "./uses-panel.tsx";

/** What should be known of it, what is in it, how it is renewed and proven, and who uses it. */
export function OverviewPage(props: OverviewProps) {
  const { view, certificate, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={certificates}
      item={certificate}
      head={headedCertificates.headOf(view, certificate, idempotencyKey)}
      tab="overview"
      banner={banner}
      calls={overviewCalls(certificate)}
      live={{ seconds: 5, gone: `${listPath(certificates)}?notice=deleted` }}
    >
      <Warnings {...props} />
      {certificate.renewal === null ? (
        <Material {...props} />
      ) : (
        <Renewal {...props} renewal={certificate.renewal} />
      )}
      {props.challenges?.length === 0 ? null : <Proofs {...props} />}
      <Uses {...props} />
      <Facts {...props} />
    </ResourcePage>
  );
}

function Warnings({ view, certificate }: OverviewProps) {
  const { status, warnings } = certificate;
  const text = view.messages.certificates;
  return (
    <>
      {status === "expired" || status === "needs_material" ? (
        <Banner kind="problem">{text.statusReasons[status]}</Banner>
      ) : null}
      {warnings.map((warning) => (
        <Banner kind="warning">{warningText(view, warning)}</Banner>
      ))}
    </>
  );
}

/** Where another certificate takes the place of an uploaded one. */
function Material({ view, certificate }: OverviewProps) {
  const text = view.messages.certificates.material;
  return (
    <Offered view={view} permission="certificate:update">
      <section class="panel" id="material" aria-labelledby="material-title">
        <div class="panel-head">
          <h2 id="material-title">{text.title}</h2>
        </div>
        <p class="panel-lead">{text.lead}</p>
        <a class="button" href={`${pageOf(certificates, certificate)}/material`}>
          {text.replace}
        </a>
      </section>
    </Offered>
  );
}
