import type { Schemas } from "@kule/contract/schemas";
import { Copyable, Status, type Tone } from "../../layout/parts.tsx";
import type { OverviewProps } from "./props.ts";
import { proofProblemText } from "./status.ts";

type Challenge = Schemas["CertificateChallenge"];
type State = "problem" | "ready" | NonNullable<Challenge["ca_status"]>;

const tones = {
  problem: "bad",
  ready: "good",
  pending: "busy",
  valid: "good",
  invalid: "bad",
} as const satisfies Record<State, Tone>;

const stateOf = ({ ready, ca_status }: Challenge): State => (ready ? (ca_status ?? "ready") : "problem");

/** For each name what proves it to the CA, where it has to be, and what stands in the way. */
export function Proofs({ view, certificate, challenges }: OverviewProps) {
  const text = view.messages.certificates.proofs;
  return (
    <section class="panel" id="proofs" aria-labelledby="proofs-title">
      <div class="panel-head">
        <h2 id="proofs-title">{text.title}</h2>
      </div>
      <p class="panel-lead">
        {certificate.challenge === "http" ? text.httpLead(certificate.region) : text.dnsLead}
      </p>
      {challenges === null ? (
        <p class="hint">{text.busy}</p>
      ) : (
        <div class="ways">
          {challenges.map((challenge, index) => (
            <Proof view={view} challenge={challenge} index={index} />
          ))}
        </div>
      )}
    </section>
  );
}

function Proof(
  props: Pick<OverviewProps, "view"> & { readonly challenge: Challenge; readonly index: number },
) {
  const { view, challenge, index } = props;
  const { messages } = view;
  const text = messages.certificates.proofs;
  const { domain_name, domain_id, record, http, ca_text } = challenge;
  const problem = proofProblemText(view, challenge);
  const state = stateOf(challenge);
  return (
    <div class="way-to-prove">
      <h3 class="mono anywhere">{domain_name}</h3>
      <Status tone={tones[state]}>{text.states[state]}</Status>
      {problem === null ? null : <p class="anywhere">{problem}</p>}
      <dl class="facts entered">
        {domain_id === null ? null : (
          <div>
            <dt>{text.domain}</dt>
            <dd>
              <a href={`/domains/${domain_id}`}>{text.domainLink}</a>
            </dd>
          </div>
        )}
        {record === null ? null : (
          <>
            <div>
              <dt>{text.recordName}</dt>
              <dd>
                <Copyable view={view} id={`record-name-${index}`} text={record.name} />
              </dd>
            </div>
            <div>
              <dt>{text.recordType}</dt>
              <dd class="mono">{record.type}</dd>
            </div>
            <Later view={view} id={`record-value-${index}`} label={text.recordValue} value={record.value} />
          </>
        )}
        {http === null ? null : (
          <>
            {http.leads_to.length === 0 ? null : (
              <div>
                <dt>{text.leadsTo}</dt>
                <dd>
                  <ul>
                    {http.leads_to.map(({ address, load_balancer_id }) => (
                      <li>
                        <span class="mono anywhere">{address}</span>:{" "}
                        {load_balancer_id === null ? (
                          text.elsewhere
                        ) : (
                          <a href={`/load-balancers/${load_balancer_id}`}>{text.loadBalancer}</a>
                        )}
                      </li>
                    ))}
                  </ul>
                </dd>
              </div>
            )}
            <Later view={view} id={`http-url-${index}`} label={text.url} value={http.url} />
            <Later view={view} id={`http-content-${index}`} label={text.content} value={http.content} />
          </>
        )}
        {ca_text === null ? null : (
          <div>
            <dt>{messages.certificates.renewal.caText}</dt>
            <dd class="anywhere" lang="en">
              {ca_text}
            </dd>
          </div>
        )}
      </dl>
    </div>
  );
}

/** What is known only while the CA is asked. */
function Later(
  props: Pick<OverviewProps, "view"> & {
    readonly id: string;
    readonly label: string;
    readonly value: string | null;
  },
) {
  const { view, id, label, value } = props;
  return (
    <div>
      <dt>{label}</dt>
      <dd class="anywhere">
        {value === null ? (
          <span class="hint">{view.messages.certificates.proofs.later}</span>
        ) : (
          <Copyable view={view} id={id} text={value} />
        )}
      </dd>
    </div>
  );
}
