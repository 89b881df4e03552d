import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { CreateLink, EmptyState, FormSeal, PageHead, Pages, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { OrganisationsPageProps } from "./props.ts";

/** Operators choose the organisation that they act in, and manage all of them. */
export function OrganisationsPage(props: OrganisationsPageProps) {
  const { view, organisations } = props;
  const text = view.messages.organisations;
  const isEmpty = organisations.items.length === 0;
  const create = <CreateLink path="/organisations/new">{text.create}</CreateLink>;
  return (
    <Shell view={view} title={text.title} section="operator" crumbs={operatorCrumbs(view)}>
      <OperatorTabs view={view} current="organisations" />
      <PageHead
        title={text.title}
        lead={text.lead}
        api={<ApiDrawer view={view} calls={[{ operation: "listOrganisations" }]} />}
      >
        <ListView view={view} list="organisations" columns={{}} />
        {isEmpty ? null : create}
      </PageHead>
      {isEmpty ? (
        <EmptyState title={text.empty} hint={text.emptyHint}>
          {create}
        </EmptyState>
      ) : (
        <Organisations {...props} />
      )}
      <Pages
        view={view}
        base="/organisations"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={organisations.next_cursor}
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
