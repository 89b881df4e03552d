import type { Schemas } from "@kule/contract/schemas";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { Icon } from "../../layout/icons.tsx";
import { addressSorts, type ListQuery } from "../../layout/list-query.ts";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { Banner, PageHead, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { AttachedTo } from "./attached-to.tsx";
import { toneOf } from "./public-ip-status.ts";
import { TakePublicIp } from "./take-public-ip.tsx";

export type PublicIpsPageProps = {
  readonly view: View;
  readonly ips: Schemas["PublicIpList"];
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  /** The form `take`, if the API did not take it. */
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export const publicIpFilters = ["region", "labels"] as const;

export function PublicIpsPage(props: PublicIpsPageProps) {
  const { view, ips, banner, query } = props;
  const { messages, session } = view;
  const text = messages.publicIps;
  const mayTake = session === null || may(session, "public_ip:create");
  return (
    <Shell view={view} title={text.title} section="publicIps">
      <PageHead title={text.title} lead={text.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      <NarrowedList
        view={view}
        page="/public-ips"
        list="public-ip-list"
        filters={publicIpFilters}
        sorts={addressSorts}
        query={query}
        regions={props.regions}
        selectorProblem={props.selectorProblem}
        empty={{ title: text.empty, hint: text.emptyHint }}
        found={ips}
        isLive
      >
        <PublicIpTable {...props} />
      </NarrowedList>
      {mayTake ? (
        <TakePublicIp {...props} />
      ) : (
        <p class="hint">{messages.common.notAllowed("public_ip:create")}</p>
      )}
      <ApiCalls view={view} calls={[{ operation: "listPublicIps" }]} />
    </Shell>
  );
}

function PublicIpTable({ view, ips }: PublicIpsPageProps) {
  const { messages } = view;
  const text = messages.publicIps;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{text.address}</th>
          <th scope="col">{messages.common.status}</th>
          <th scope="col">{text.server}</th>
          <th scope="col">{text.ptr}</th>
          <th scope="col">{messages.common.region}</th>
          <th scope="col">{messages.common.created}</th>
        </tr>
      </thead>
      <tbody>
        {ips.items.map((ip) => (
          <tr id={ip.id} data-tone={toneOf(ip)}>
            <th scope="row" class="mono">
              <a href={`/public-ips/${ip.id}`}>{ip.address}</a>
              {ip.protection.delete ? (
                <span class="lock" title={text.protected}>
                  <Icon name="lock" size={14} />
                  <span class="visually-hidden">{text.protected}</span>
                </span>
              ) : null}
            </th>
            <td>
              <Status tone={toneOf(ip)}>{text.status[ip.status]}</Status>
            </td>
            <td data-label={text.server}>
              <AttachedTo ip={ip} none="–" />
            </td>
            <td class="mono breakable" data-label={text.ptr}>
              {ip.ptr ?? "–"}
            </td>
            <td data-label={messages.common.region}>{ip.region}</td>
            <td data-label={messages.common.created}>
              <When view={view} time={ip.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
