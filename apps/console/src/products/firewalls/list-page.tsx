import type { Schemas } from "@kule/contract/schemas";
import { type ListQuery, nameSorts } from "../../layout/list-query.ts";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { Banner, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { attachmentTones, targetText } from "./attachments.tsx";
import { CreateFirewall } from "./create-form.tsx";
import type { Places } from "./places.ts";

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
      <PageHead title={text.title} lead={text.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      <NarrowedList
        view={view}
        page="/firewalls"
        list="firewall-list"
        filters={firewallFilters}
        sorts={nameSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{ title: text.empty, hint: text.emptyHint }}
        found={firewalls}
        isLive
      >
        <FirewallTable {...props} />
      </NarrowedList>
      {mayCreate ? (
        <CreateFirewall {...props} />
      ) : (
        <p class="hint">{messages.common.notAllowed("firewall:create")}</p>
      )}
    </Shell>
  );
}

function FirewallTable({ view, firewalls, places }: FirewallsPageProps) {
  const { messages } = view;
  const text = messages.firewalls;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{messages.common.name}</th>
          <th scope="col">{text.rules}</th>
          <th scope="col">{text.attachedTo}</th>
          <th scope="col">{messages.common.status}</th>
          <th scope="col">{messages.common.region}</th>
        </tr>
      </thead>
      <tbody>
        {firewalls.items.map((firewall) => {
          const state = stateOf(firewall);
          return (
            <tr id={firewall.id} data-tone={state === null ? "idle" : attachmentTones[state]}>
              <th scope="row">
                <a href={`/firewalls/${firewall.id}`}>{firewall.name}</a>
              </th>
              <td class="figures" data-label={text.rules}>
                {text.ruleCount(firewall.rules.length)}
              </td>
              <td data-label={text.attachedTo}>
                {firewall.attachments.length === 0 ? (
                  <span class="hint">{text.attachedToNothing}</span>
                ) : (
                  <span class="peers">
                    {firewall.attachments.slice(0, 4).map((attachment) => (
                      <span class={attachment.label_selector === null ? "peer" : "peer mono"}>
                        {targetText(view, places, attachment)}
                      </span>
                    ))}
                    {firewall.attachments.length > 4 ? (
                      <span class="hint">{messages.networkMap.more(firewall.attachments.length - 4)}</span>
                    ) : null}
                  </span>
                )}
              </td>
              <td data-label={messages.common.status}>
                {state === null ? (
                  "–"
                ) : (
                  <Status tone={attachmentTones[state]}>{text.attachments.states[state]}</Status>
                )}
              </td>
              <td data-label={messages.common.region}>{firewall.region}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The worst of its attachments; null when it has none. */
function stateOf({ attachments }: Schemas["Firewall"]): Schemas["FirewallAttachment"]["status"] | null {
  const states = attachments.map(({ status }) => status);
  return (["failed", "pending", "applied"] as const).find((state) => states.includes(state)) ?? null;
}
