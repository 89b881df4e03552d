import type { Child } from "hono/jsx";
import type { PagePart } from "../assets.ts";
import { formTokenField } from "../csrf.ts";
import { firstPage } from "../session.ts";
import { type Crumb, Crumbs } from "./crumbs-part.tsx";
import { Dialogs } from "./dialogs.tsx";
import { Document } from "./document.tsx";
import { Icon } from "./icons.tsx";
import { Mark } from "./mark.tsx";
import { OrganisationLink } from "./organisation-link.tsx";
import { Preferences } from "./preferences.tsx";
import { RailSections, type Section } from "./rail-sections.tsx";
import { RequestProblems } from "./request-problems.tsx";
import type { View } from "./view.ts";

/** The assets of a section's pages that no others load. */
const partsOf: { readonly [section in Section]?: readonly PagePart[] } = {
  jobs: ["jobs"],
  networks: ["networks"],
  gateways: ["networks"],
  loadBalancers: ["networks", "usage"],
  firewalls: ["networks"],
  domains: ["domains"],
  certificates: ["domains"],
  operator: ["operator"],
  usage: ["usage"],
  quotas: ["usage"],
};

type Props = {
  readonly view: View;
  readonly title: string;
  readonly section?: Section;
  /** Assets beyond those that all pages of the section load. */
  readonly needs?: readonly PagePart[];
  readonly keepsForms?: boolean;
  /** The pages above this one; left out on the first page of a section. */
  readonly crumbs?: readonly Crumb[];
  /** This page's own name at the end of the crumbs; the title unless set. */
  readonly here?: string;
  readonly children?: Child;
};

/** A signed-in page: the rail with the products, the account, and the content. */
export function Shell(props: Props) {
  const { view, title, section, needs = [], keepsForms = false, crumbs, here = title, children } = props;
  const { messages, session } = view;
  // Without an organisation there is nothing to search and no jobs run.
  const isSomewhere = session !== null && session.organisation !== null;
  return (
    <Document
      view={view}
      title={title}
      class="with-rail"
      keepsForms={keepsForms}
      needs={[...(section === undefined ? [] : (partsOf[section] ?? [])), ...needs]}
    >
      <a class="skip-link" href="#content">
        {messages.skipToContent}
      </a>
      <header class="rail">
        <div class="rail-top">
          <a class="brand" href={firstPage(session)}>
            <Mark />
            <span>{messages.product}</span>
          </a>
          {isSomewhere ? (
            <a class="palette-link" href="/search" data-palette="" aria-keyshortcuts="Control+K Meta+K">
              <Icon name="search" size={18} />
              <span class="visually-hidden">{messages.common.search}</span>
              <span class="keys" aria-hidden="true">
                <kbd>Ctrl K</kbd>
              </span>
            </a>
          ) : null}
        </div>
        <OrganisationLink view={view} isHere={section === "organisation"} />
        <RailSections view={view} {...(section === undefined ? {} : { section })} />
        <div class="rail-foot">
          {isSomewhere ? <section id="activity" aria-label={messages.activity.title} /> : null}
          <Account view={view} />
        </div>
      </header>
      <main id="content" tabindex={-1} data-person={session?.user.email}>
        <p id="stale-banner" class="banner" data-kind="warning" role="status" hidden>
          <Icon name="alert" />
          <span>{messages.common.stale}</span>
        </p>
        {crumbs === undefined ? null : <Crumbs view={view} parents={crumbs} here={here} />}
        {children}
      </main>
      <aside id="toasts" aria-label={messages.activity.ended} />
      {session === null ? null : <Dialogs view={view} session={session} />}
      <RequestProblems view={view} />
    </Document>
  );
}

function Account({ view }: { readonly view: View }) {
  const { messages, session } = view;
  if (session === null) return <Preferences view={view} />;
  return (
    <details class="account">
      <summary>
        <span class="visually-hidden">{messages.navigation.account}: </span>
        <Icon name="person" />
        <span class="account-name">
          <strong>{session.user.name}</strong>
          <small>{session.user.email}</small>
        </span>
      </summary>
      <div class="rail-menu account-menu">
        <p class="account-who">
          {messages.navigation.signedInAs} <strong>{session.user.name}</strong>
        </p>
        <Preferences view={view} />
        <a class="menu-item" href="/account/security">
          {messages.account.menu}
        </a>
        {session.operator ? (
          <a class="menu-item" href="/organisations">
            {messages.navigation.switchOrganisation}
          </a>
        ) : null}
        <button type="button" class="menu-item with-script" data-shortcuts="">
          {messages.shortcuts.title}
        </button>
        <form method="post" action="/sign-out" data-kept-nowhere="">
          <input type="hidden" name={formTokenField} value={view.formToken()} />
          <button type="submit" class="menu-item">
            {messages.navigation.signOut}
          </button>
        </form>
      </div>
    </details>
  );
}
