import type { Child } from "hono/jsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { Copyable, When } from "../../layout/parts.tsx";
import { listPath } from "../../resources/resource.ts";
import { DaysLeft } from "./days-left-part.tsx";
import type { CertificateTabProps } from "./props.ts";
import { certificates } from "./resource.ts";

/** What is in the certificate; before it was issued, what will be. */
export function Facts({ view, certificate }: CertificateTabProps) {
  const { messages, format } = view;
  const text = messages.certificates;
  const { issuer, serial, key_type, san, domain_names, not_before, not_after, version } = certificate;
  const names = san.length === 0 ? domain_names : san;
  return (
    <section class="panel" id="facts" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{text.facts}</h2>
      </div>
      <dl class="facts">
        <div>
          <dt>{text.names}</dt>
          <dd>
            <ul class="values">
              {names.map((name) => (
                <li class="mono anywhere">{name}</li>
              ))}
            </ul>
          </dd>
        </div>
        <Fact label={text.issuer}>{issuer}</Fact>
        <Fact label={text.serial} isMono>
          {serial}
        </Fact>
        <Fact label={text.keyType} isMono>
          {key_type}
        </Fact>
        <Fact label={text.notBefore}>{not_before === null ? null : format.dateTime(not_before)}</Fact>
        <Fact label={text.notAfter}>{not_after === null ? null : format.dateTime(not_after)}</Fact>
        <Fact label={text.daysLeft}>
          <DaysLeft view={view} days={certificate.days_left} />
        </Fact>
        <Fingerprint
          {...{ view, id: "fingerprint", label: text.fingerprint, text: certificate.fingerprint_sha256 }}
        />
        <Fingerprint
          {...{
            view,
            id: "previous",
            label: text.previousFingerprint,
            text: certificate.previous_fingerprint,
          }}
        />
        <Fact label={text.version}>{version === null ? null : format.number(version)}</Fact>
        <Fact label={messages.common.region}>{certificate.region}</Fact>
        {certificate.job_id === null ? null : (
          <Fact label={text.job}>
            <a href={`/jobs/${certificate.job_id}`}>{text.jobLink}</a>
          </Fact>
        )}
        <LabelsFact view={view} labels={certificate.labels} list={listPath(certificates)} />
        <Fact label={messages.common.created}>
          <When view={view} time={certificate.created_at} />
        </Fact>
        <Fact label={messages.common.id}>
          <Copyable view={view} id="certificate-id" text={certificate.id} />
        </Fact>
      </dl>
    </section>
  );
}

function Fact(props: { readonly label: string; readonly isMono?: boolean; readonly children?: Child }) {
  const { label, isMono = false, children } = props;
  return (
    <div>
      <dt>{label}</dt>
      <dd class={isMono ? "mono anywhere" : undefined}>{children ?? "–"}</dd>
    </div>
  );
}

function Fingerprint(
  props: Pick<CertificateTabProps, "view"> & {
    readonly id: string;
    readonly label: string;
    readonly text: string | null;
  },
) {
  const { view, id, label, text } = props;
  if (text === null) return null;
  return (
    <div class="fact-long">
      <dt>{label}</dt>
      <dd class="anywhere">
        <Copyable view={view} id={id} text={text} />
      </dd>
    </div>
  );
}
