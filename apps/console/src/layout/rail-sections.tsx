import type { Session } from "../session.ts";
import { Icon, type IconName } from "./icons.tsx";
import { type OrganisationPage, organisationPages } from "./organisation-pages.ts";
import type { View } from "./view.ts";

/** The entries of the rail for what an organisation uses. */
export type Product =
  | "servers"
  | "networks"
  | "gateways"
  | "loadBalancers"
  | "firewalls"
  | "publicIps"
  | "domains"
  | "certificates"
  | "sshKeys"
  | "jobs"
  | "usage";

/** The entry of the rail to which a page belongs; `organisation` is the link above the entries. */
export type Section = Product | OrganisationPage | "organisation" | "operator";

type Entry = {
  readonly id: Section;
  readonly path: string;
  readonly icon: IconName;
  readonly text: string;
};

const products: readonly { readonly id: Product; readonly path: string; readonly icon: IconName }[] = [
  { id: "servers", path: "/servers", icon: "servers" },
  { id: "networks", path: "/networks", icon: "networks" },
  { id: "gateways", path: "/gateways", icon: "gateways" },
  { id: "loadBalancers", path: "/load-balancers", icon: "loadBalancers" },
  { id: "firewalls", path: "/firewalls", icon: "firewalls" },
  { id: "publicIps", path: "/public-ips", icon: "addresses" },
  { id: "domains", path: "/domains", icon: "domains" },
  { id: "certificates", path: "/certificates", icon: "certificates" },
  { id: "sshKeys", path: "/ssh-keys", icon: "keys" },
  { id: "jobs", path: "/jobs", icon: "jobs" },
  { id: "usage", path: "/usage", icon: "usage" },
];

const organisationIcons = {
  members: "members",
  tokens: "tokens",
  audit: "audit",
  quotas: "quotas",
} as const satisfies Record<OrganisationPage, IconName>;

/** The entries that a phone shows in its bar; the others are in its menu. */
const onPhones: ReadonlySet<Section> = new Set(["servers", "networks", "firewalls", "publicIps"]);

/** The sections of the panel: the products, the organisation's own pages, and the operators' pages. */
export function RailSections({ view, section }: { readonly view: View; readonly section?: Section }) {
  const { messages } = view;
  const { navigation } = messages;
  const { ofProducts, ofOrganisation, ofOperators } = entriesOf(view);
  const others = [...ofProducts, ...ofOrganisation, ...ofOperators].filter(({ id }) => !onPhones.has(id));
  const links = (entries: readonly Entry[]) => entries.map((entry) => <Link {...entry} section={section} />);
  return (
    <nav class="sections" aria-label={navigation.label}>
      {links(ofProducts)}
      {ofOrganisation.length === 0 ? null : (
        <p class="sections-title" id="organisation-sections">
          {messages.organisation.label}
        </p>
      )}
      {links(ofOrganisation)}
      {ofOperators.length === 0 ? null : <hr />}
      {links(ofOperators)}
      {/* Only on phones, whose bar has no space for all entries. */}
      <details class="more-sections">
        <summary data-here={others.some(({ id }) => id === section) ? "" : undefined}>
          <Icon name="more" />
          <span>{navigation.more}</span>
        </summary>
        <div class="rail-menu">{links(others)}</div>
      </details>
    </nav>
  );
}

function Link(props: Entry & { readonly section: Section | undefined }) {
  const { id, path, icon, text, section } = props;
  return (
    <a
      href={path}
      aria-current={section === id ? "page" : undefined}
      data-on-phones={onPhones.has(id) ? "" : undefined}
    >
      <Icon name={icon} />
      <span>{text}</span>
    </a>
  );
}

type Entries = { readonly [group in "ofProducts" | "ofOrganisation" | "ofOperators"]: readonly Entry[] };

function entriesOf({ messages, session }: View): Entries {
  const { navigation, organisation } = messages;
  return {
    ofProducts: products.map((each) => ({ ...each, text: navigation[each.id] })),
    ofOrganisation: ownPages(session).map(({ id, path }) => ({
      id,
      path,
      icon: organisationIcons[id],
      text: organisation.pages[id],
    })),
    ofOperators:
      session?.operator === true
        ? [{ id: "operator", path: "/operator", icon: "regions", text: navigation.operator }]
        : [],
  };
}

/** An operator who has not chosen an organisation has none of these pages yet. */
function ownPages(session: Session | null) {
  return session === null || session.organisation === null ? [] : organisationPages(session);
}
