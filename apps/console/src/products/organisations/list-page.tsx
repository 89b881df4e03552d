import type { Schemas } from "@kule/contract/schemas";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { EmptyState, FormSeal, PageHead, Pages, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type OrganisationsPageProps = {
  readonly view: View;
  readonly organisations: Schemas["OrganisationList"];
  readonly cursor: string | undefined;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

/** Operators choose the organisation that they act in, and look after all of them. */
export function OrganisationsPage(props: OrganisationsPageProps) {
  const { view, organisations, banner } = props;
  const text = view.messages.organisations;
  return (
    <Shell view={view} title={text.title} section="operator">
      <OperatorTabs view={view} current="organisations" />
      <PageHead title={text.title} lead={text.lead}>
        <ListView view={view} list="organisations" columns={{}} />
      </PageHead>
      <PageNotice banner={banner} />
      {organisations.items.length > 0 ? (
        <Organisations {...props} />
      ) : (
        <EmptyState title={text.empty} hint={text.emptyHint} />
      )}
      <Pages
        view={view}
        base="/organisations"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={organisations.next_cursor}
      />
      <CreateOrganisation {...props} />
      <ApiCalls
        view={view}
        calls={[
          { operation: "listOrganisations" },
          { operation: "createOrganisation", body: { slug: "acme", name: "Acme Hosting" } },
        ]}
      />
    </Shell>
  );
}

function Organisations({ view, organisations }: OrganisationsPageProps) {
  const { messages, session } = view;
  const text = messages.organisations;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{messages.common.name}</th>
          <th scope="col">{text.slug}</th>
          <th scope="col">{messages.common.created}</th>
          <td></td>
        </tr>
      </thead>
      <tbody>
        {organisations.items.map((organisation) => (
          <tr>
            <th scope="row">
              <a href={`/organisations/${organisation.id}`} aria-label={text.manageNamed(organisation.name)}>
                {organisation.name}
              </a>{" "}
              {organisation.status === "suspended" ? <span class="tag">{text.suspended}</span> : null}
            </th>
            <td class="mono" data-label={text.slug}>
              {organisation.slug}
            </td>
            <td data-label={messages.common.created}>
              <When view={view} time={organisation.created_at} />
            </td>
            <td class="row-act">
              <div class="row-acts">
                <a
                  class="button"
                  href={`/organisations/${organisation.id}`}
                  aria-label={text.manageNamed(organisation.name)}
                >
                  {text.manage}
                </a>
                {session?.organisation?.id === organisation.id ? (
                  <span class="tag">{text.current}</span>
                ) : (
                  <form method="post" action="/organisations">
                    <FormSeal view={view} />
                    <input type="hidden" name="organisation_id" value={organisation.id} />
                    <button type="submit" class="button" aria-label={`${text.choose}: ${organisation.name}`}>
                      {text.choose}
                    </button>
                  </form>
                )}
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function CreateOrganisation({ view, form, idempotencyKey }: OrganisationsPageProps) {
  const { messages } = view;
  const text = messages.organisations;
  return (
    <section class="panel" aria-labelledby="create-title">
      <div class="panel-head">
        <h2 id="create-title">{text.create}</h2>
      </div>
      <form class="form" method="post" action="/organisations/new">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div class="form-row">
          <TextField
            view={view}
            name="name"
            label={messages.common.name}
            value={form?.values.name ?? ""}
            problems={form?.problems ?? noProblems}
            required
            maxlength={100}
          />
          <TextField
            view={view}
            name="slug"
            label={text.slug}
            value={form?.values.slug ?? ""}
            hint={text.slugHint}
            problems={form?.problems ?? noProblems}
            required
            mono
            maxlength={40}
          />
        </div>
        <button type="submit" class="button">
          {text.create}
        </button>
      </form>
    </section>
  );
}
