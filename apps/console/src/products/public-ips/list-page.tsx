import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { addressSorts, type ListQuery } from "../../layout/list-query.ts";
import { NarrowedList } from "../../layout/narrowed-list.tsx";
import { Banner, FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { type RefusedForm, refusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { PublicIpCalls } from "./public-ip-calls.tsx";
import { PublicIpPanel } from "./public-ip-panel.tsx";

export type PublicIpsPageProps = {
  readonly view: View;
  readonly ips: Schemas["PublicIpList"];
  /** Where an address could go. */
  readonly servers: readonly Pick<Schemas["Server"], "id" | "name" | "region" | "public_ips">[];
  /** Those are the first by their names only. */
  readonly hasMoreServers: boolean;
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  /** The form that the API did not take: `take`, or an act with the address' id, such as `update-ip_1`. */
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export const publicIpFilters = ["region", "labels"] as const;

export function PublicIpsPage(props: PublicIpsPageProps) {
  const { view, ips, banner, query } = props;
  const { messages, session } = view;
  const mayTake = session === null || may(session, "public_ip:create");
  return (
    <Shell view={view} title={messages.publicIps.title} section="publicIps">
      <PageHead title={messages.publicIps.title} lead={messages.publicIps.lead} />
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
        empty={{ title: messages.publicIps.empty, hint: messages.publicIps.emptyHint }}
        found={ips}
        isLive
      >
        {ips.items.map((ip) => (
          <PublicIpPanel {...props} ip={ip} />
        ))}
      </NarrowedList>
      {mayTake ? (
        <TakePublicIp {...props} />
      ) : (
        <p class="hint">{messages.common.notAllowed("public_ip:create")}</p>
      )}
      <PublicIpCalls {...props} />
    </Shell>
  );
}

function TakePublicIp(props: PublicIpsPageProps) {
  const { view, regions, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.publicIps;
  const form = refusedForm(props.form, "take");
  const problems = form?.problems ?? noProblems;
  return (
    <section class="panel" aria-labelledby="take-title">
      <div class="panel-head">
        <h2 id="take-title">{text.take}</h2>
      </div>
      <p class="panel-lead">{text.takeHint}</p>
      <form class="form" method="post" action="/public-ips">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div class="field" data-invalid={problems.region === undefined ? undefined : "true"}>
          <label for="field-region">{messages.common.region}</label>
          <select id="field-region" name="region">
            {regions.map(({ slug, name }) => (
              <option value={slug} selected={form?.values.region === slug}>
                {name}
              </option>
            ))}
          </select>
          <Problem name="region" problems={problems.region} />
        </div>
        <div class="field">
          <label for="field-version">{text.version}</label>
          <select id="field-version" name="version">
            {["4", "6"].map((version) => (
              <option value={version} selected={form?.values.version === version}>
                {`IPv${version}`}
              </option>
            ))}
          </select>
        </div>
        <TextField
          view={view}
          name="ptr"
          label={text.ptr}
          value={form?.values.ptr ?? ""}
          hint={text.ptrHint}
          problems={problems}
          optional
          mono
          maxlength={253}
        />
        <button type="submit" class="button" data-kind="primary">
          {text.take}
        </button>
      </form>
      <ApiCall
        view={view}
        id="take-call"
        operation="createPublicIp"
        body={{ region: regions[0]?.slug ?? "ist1" }}
      />
    </section>
  );
}
