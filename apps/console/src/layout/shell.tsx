import type { Child } from "hono/jsx";
import type { PagePart } from "../assets.ts";
import { formTokenField } from "../csrf.ts";
import { Dialogs } from "./dialogs.tsx";
import { Document } from "./document.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { Mark } from "./mark.tsx";
import { OrganisationMenu } from "./organisation-menu.tsx";
import { Preferences } from "./preferences.tsx";
import { RequestProblems } from "./request-problems.tsx";
import type { View } from "./view.ts";

export type Section =
  | "servers"
  | "networks"
  | "firewalls"
  | "publicIps"
  | "sshKeys"
  | "jobs"
  | "usage"
  | "organisation"
  | "operator";

const sections: readonly {
  readonly id: Exclude<Section, "organisation">;
  readonly path: string;
  readonly icon: IconName;
  readonly operators?: true;
}[] = [
  { id: "servers", path: "/servers", icon: "servers" },
  { id: "networks", path: "/networks", icon: "networks" },
  { id: "firewalls", path: "/firewalls", icon: "firewalls" },
  { id: "publicIps", path: "/public-ips", icon: "addresses" },
  { id: "sshKeys", path: "/ssh-keys", icon: "keys" },
  { id: "jobs", path: "/jobs", icon: "jobs" },
  { id: "usage", path: "/usage", icon: "usage" },
  { id: "operator", path: "/operator", icon: "regions", operators: true },
];

/** The assets of a section's pages that no others load. */
const partsOf: { readonly [section in Section]?: readonly PagePart[] } = {
  jobs: ["jobs"],
  networks: ["networks"],
  firewalls: ["networks"],
  operator: ["operator"],
  usage: ["usage"],
};

type Props = {
  readonly view: View;
  readonly title: string;
  readonly section?: Section;
  /** Assets beyond those that all pages of the section load. */
  readonly needs?: readonly PagePart[];
  readonly keepsForms?: boolean;
  readonly children?: Child;
};

/** A signed-in page: the rail with the products, the account, and the content. */
export function Shell({ view, title, section, needs = [], keepsForms = false, children }: Props) {
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
          <a class="brand" href="/servers">
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
        <OrganisationMenu view={view} isHere={section === "organisation"} />
        <nav class="sections" aria-label={messages.navigation.label}>
          {sections
            .filter(({ operators }) => operators !== true || session?.operator === true)
            .map(({ id, path, icon }) => (
              <a href={path} aria-current={section === id ? "page" : undefined}>
                <Icon name={icon} />
                <span>{messages.navigation[id]}</span>
              </a>
            ))}
        </nav>
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
      <div class="account-menu">
        <p class="account-who">
          {messages.navigation.signedInAs} <strong>{session.user.name}</strong>
        </p>
        <Preferences view={view} />
        <a class="button" href="/account/security">
          {messages.account.menu}
        </a>
        {session.operator ? (
          <a class="button" href="/organisations">
            {messages.navigation.switchOrganisation}
          </a>
        ) : null}
        <button type="button" class="button with-script" data-shortcuts="">
          {messages.shortcuts.title}
        </button>
        <form method="post" action="/sign-out" data-kept-nowhere="">
          <input type="hidden" name={formTokenField} value={view.formToken()} />
          <button type="submit" class="button">
            {messages.navigation.signOut}
          </button>
        </form>
      </div>
    </details>
  );
}
