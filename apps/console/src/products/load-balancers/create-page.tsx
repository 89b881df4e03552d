import { CreateLink, EmptyState, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { createPath, listCrumbs } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { networks } from "../networks/resource.ts";
import { CreateBalancer } from "./create-form.tsx";
import type { CreatePageProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";

export function CreatePage(props: CreatePageProps) {
  const { view } = props;
  const { messages, session } = view;
  const text = messages.loadBalancers;
  const hasSubnet = props.networks.some(({ subnets }) => subnets.length > 0);
  return (
    <Shell
      view={view}
      title={text.create}
      section="loadBalancers"
      crumbs={listCrumbs(loadBalancers, messages)}
    >
      <PageHead title={text.create} lead={text.createLead} />
      {hasSubnet ? (
        <CreateBalancer {...props} />
      ) : (
        <EmptyState title={text.noSubnet} hint={text.noSubnetHint}>
          {session === null || may(session, "network:create") ? (
            <CreateLink path={createPath(networks)}>{messages.networks.create}</CreateLink>
          ) : null}
        </EmptyState>
      )}
    </Shell>
  );
}
