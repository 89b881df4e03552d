import { ApiCalls } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { EmptyState, FormSeal, PageHead, Pages, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { CreateOrganisation } from "./create-form.tsx";
import type { OrganisationsPageProps } from "./props.ts";

/** Operators choose the organisation that they act in, and manage all of them. */
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
