import { Offered } from "../../layout/action-button.tsx";
import type { DelegationProps } from "./props.ts";

/** Names inside of the domain that other organisations had proven before, and keep. */
export function KeptDelegations({ view, domain }: Pick<DelegationProps, "view" | "domain">) {
  const text = view.messages.domains.kept;
  return (
    <section class="panel" id="kept-delegations" aria-labelledby="kept-delegations-title">
      <div class="panel-head">
        <h2 id="kept-delegations-title">{text.title}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      <ul>
        {domain.kept_delegations.map((name) => (
          <li class="mono anywhere">{name}</li>
        ))}
      </ul>
      <Offered view={view} permission="domain:create">
        <p class="hint">
          {text.take} <a href="/domains/new">{view.messages.domains.create}</a>
        </p>
      </Offered>
    </section>
  );
}
