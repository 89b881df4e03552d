import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Status, When } from "../../layout/parts.tsx";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { may } from "../../session.ts";
import { selectColumn } from "../selected/selection-part.tsx";
import { attachmentTones, targetText } from "./attachments-panel.tsx";
import type { FirewallsPageProps } from "./props.ts";
import { firewalls } from "./resource.ts";
import { selectedFirewalls } from "./selected.tsx";

type Firewall = Schemas["Firewall"];

export function FirewallsPage(props: FirewallsPageProps) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={firewalls}
      found={props.firewalls}
      options={<ListView view={view} list="firewalls" columns={firewallColumns(props)} />}
      selected={selectedFirewalls}
      mayCreate={session === null || may(session, "firewall:create")}
    >
      <FirewallTable {...props} />
    </ResourceListPage>
  );
}

function firewallColumns({ view }: FirewallsPageProps): Columns<"firewalls", Firewall> {
  const { messages } = view;
  const text = messages.firewalls;
  return {
    rules: { label: text.rules, class: "figures number", cell: ({ rules }) => text.ruleCount(rules.length) },
    attached: {
      label: text.attachedTo,
      cell: ({ attachments }) =>
        attachments.length === 0 ? (
          <span class="hint">{text.attachedToNothing}</span>
        ) : (
          <span class="peers">
            {attachments.slice(0, 4).map((attachment) => (
              <span class={attachment.label_selector === null ? "peer" : "peer mono"}>
                {targetText(attachment)}
              </span>
            ))}
            {attachments.length > 4 ? (
              <span class="hint">{messages.networkMap.more(attachments.length - 4)}</span>
            ) : null}
          </span>
        ),
    },
    status: {
      label: messages.common.status,
      cell: (firewall) => {
        const state = stateOf(firewall);
        if (state === null) return "–";
        return <Status tone={attachmentTones[state]}>{text.attachments.states[state]}</Status>;
      },
    },
    region: { label: messages.common.region, sort: "region", cell: ({ region }) => region },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function FirewallTable(props: FirewallsPageProps) {
  const { view, firewalls, query } = props;
  const { messages } = view;
  return (
    <ListTable
      view={view}
      {...selectColumn(view, selectedFirewalls)}
      list="firewalls"
      caption={messages.firewalls.title}
      items={firewalls.items}
      name={{
        label: messages.common.name,
        sort: "name",
        cell: ({ id, name, labels }) => (
          <>
            <a href={`/firewalls/${id}`}>{name}</a>
            <LabelTags labels={labels} list="/firewalls" />
          </>
        ),
      }}
      columns={firewallColumns(props)}
      sorted={{ page: "/firewalls", parameters: listParameters(query), sort: query.sort }}
      row={(firewall) => {
        const state = stateOf(firewall);
        return { id: firewall.id, "data-tone": state === null ? "idle" : attachmentTones[state] };
      }}
    />
  );
}

/** The worst status of its attachments; null without attachments. */
function stateOf({ attachments }: Firewall): Schemas["FirewallAttachment"]["status"] | null {
  const states = attachments.map(({ status }) => status);
  return (["failed", "pending", "applied"] as const).find((state) => states.includes(state)) ?? null;
}
