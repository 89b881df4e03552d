import { ResourcePage } from "../../resources/resource-page.tsx";
import { delegationCalls } from "./calls.ts";
import { CheckPanel } from "./check-panel.tsx";
import { headedDomains } from "./head-part.tsx";
import { KeptDelegations } from "./kept-delegations-panel.tsx";
import { NameServers } from "./name-servers-panel.tsx";
import { ProveDomain } from "./proof-panel.tsx";
import type { DelegationProps } from "./props.ts";
import { domains } from "./resource.ts";
import { isProven } from "./status.ts";
import { Warnings } from "./warnings-part.tsx";

/** What to enter where the domain is registered, what was seen there, and a check at this moment. */
export function DelegationPage(props: DelegationProps) {
  const { view, domain, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={domains}
      item={domain}
      head={headedDomains.headOf(view, domain, idempotencyKey)}
      tab="delegation"
      banner={banner}
      calls={delegationCalls(domain)}
      live={{ seconds: 10, gone: "/domains?notice=gone" }}
      still={isProven(domain) ? <CheckPanel {...props} /> : null}
    >
      <Warnings view={view} domain={domain} on="delegation" />
      {domain.verification === null ? null : <ProveDomain {...props} verification={domain.verification} />}
      {isProven(domain) ? <NameServers {...props} /> : null}
      {domain.kept_delegations.length === 0 ? null : <KeptDelegations {...props} />}
    </ResourcePage>
  );
}
