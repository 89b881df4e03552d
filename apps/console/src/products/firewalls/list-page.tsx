import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { type ListQuery, listParameters, nameSorts } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead, Status, ToForm, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { SelectionBar, selectColumn } from "../selected/selection.tsx";
import { attachmentTones, targetText } from "./attachments.tsx";
import { CreateFirewall } from "./create-form.tsx";
import type { Places } from "./places.ts";
import { selectedFirewalls } from "./selected-firewalls.tsx";

type Firewall = Schemas["Firewall"];

export type FirewallsPageProps = {
  readonly view: View;
  readonly firewalls: Schemas["FirewallList"];
  readonly places: Places;
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export const firewallFilters = ["hostname", "region", "labels"] as const;

export function FirewallsPage(props: FirewallsPageProps) {
  const { view, firewalls, banner, query } = props;
  const { messages, session } = view;
  const text = messages.firewalls;
  const mayCreate = session === null || may(session, "firewall:create");
  return (
    <Shell view={view} title={text.title} section="firewalls">
      <PageHead title={text.title} lead={text.lead}>
        {mayCreate ? <ToForm form="create-title">{text.create}</ToForm> : null}
      </PageHead>
      <PageNotice banner={banner} />
      <NarrowedList
        view={view}
        page="/firewalls"
        list="firewall-list"
        filters={firewallFilters}
        sorts={nameSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{
          title: text.empty,
          hint: text.emptyHint,
          begin: mayCreate ? { form: "create-title", text: text.create } : null,
        }}
        found={firewalls}
        options={<ListView view={view} list="firewalls" columns={firewallColumns(props)} />}
        isLive
      >
        <FirewallTable {...props} />
      </NarrowedList>
      <SelectionBar view={view} kind={selectedFirewalls} items={firewalls.items} />
      {mayCreate ? <CreateFirewall {...props} /> : null}
    </Shell>
  );
}

function firewallColumns({ view, places }: FirewallsPageProps): Columns<"firewalls", Firewall> {
  const { messages } = view;
  const text = messages.firewalls;
  return {
    rules: { label: text.rules, class: "figures", cell: ({ rules }) => text.ruleCount(rules.length) },
    attached: {
      label: text.attachedTo,
      cell: ({ attachments }) =>
        attachments.length === 0 ? (
          <span class="hint">{text.attachedToNothing}</span>
        ) : (
          <span class="peers">
            {attachments.slice(0, 4).map((attachment) => (
              <span class={attachment.label_selector === null ? "peer" : "peer mono"}>
                {targetText(view, places, attachment)}
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
    region: { label: messages.common.region, cell: ({ region }) => region },
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

/** The worst of its attachments; null when it has none. */
function stateOf({ attachments }: Firewall): Schemas["FirewallAttachment"]["status"] | null {
  const states = attachments.map(({ status }) => status);
  return (["failed", "pending", "applied"] as const).find((state) => states.includes(state)) ?? null;
}
