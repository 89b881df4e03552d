import { Banner, Copyable, Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { DelegationProps } from "./props.ts";
import { delegationTones } from "./status.ts";

/** The name servers to enter at the registrar, and where the domain led at the last look. */
export function NameServers({ view, domain }: DelegationProps) {
  const { messages } = view;
  const text = messages.domains.delegate;
  const { state, observed, checked_at } = domain.delegation;
  return (
    <section class="panel" id="name-servers" aria-labelledby="name-servers-title">
      <div class="panel-head">
        <h2 id="name-servers-title">{text.title}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      <NameServerList view={view} names={domain.name_servers} />
      <dl class="facts delegation-state">
        <div>
          <dt>{text.state}</dt>
          <dd>
            <Status tone={delegationTones[state]}>{messages.domains.delegationStates[state]}</Status>
          </dd>
        </div>
        {state === "unknown" ? null : (
          <div>
            <dt>{text.observed}</dt>
            <dd>
              {observed.length === 0
                ? text.nowhere
                : observed.map((name) => (
                    <div
                      class="mono anywhere"
                      data-foreign={domain.name_servers.includes(name) ? undefined : ""}
                    >
                      {name}
                    </div>
                  ))}
            </dd>
          </div>
        )}
        <div>
          <dt>{text.checked}</dt>
          <dd>{checked_at === null ? text.never : <When view={view} time={checked_at} />}</dd>
        </div>
      </dl>
      {state === "right" ? <Banner kind="notice">{text.right}</Banner> : null}
    </section>
  );
}

/** Each with its own button: registrars have a field for each. */
export function NameServerList({ view, names }: { readonly view: View; readonly names: readonly string[] }) {
  const text = view.messages.domains.delegate;
  return (
    <dl class="facts entered">
      {names.map((name, at) => (
        <div>
          <dt>{text.nameServer(String(at + 1))}</dt>
          <dd>
            <Copyable view={view} id={`name-server-${at}`} text={name} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
