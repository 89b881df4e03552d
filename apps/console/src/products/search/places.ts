import { type OrganisationPage, organisationPages } from "../../layout/organisation-pages.ts";
import type { Messages } from "../../messages/messages.ts";
import { may, type Session } from "../../session.ts";

/** A page of the console, or an action that starts on one. */
export type Place = {
  readonly title: string;
  readonly path: string;
  /** The second key after `g`, where there is one. */
  readonly key?: string;
};

const keysOfOrganisation: { readonly [page in OrganisationPage]: string } = {
  members: "m",
  tokens: "t",
  audit: "a",
  quotas: "q",
};

type Places = { readonly pages: readonly Place[]; readonly acts: readonly Place[] };

/** The pages that the session's user can open, and the actions that start there. */
export function placesOf(messages: Messages, session: Session): Places {
  const { navigation, search } = messages;
  const pages: Place[] = [
    { title: navigation.servers, path: "/servers", key: "s" },
    { title: navigation.networks, path: "/networks", key: "n" },
    { title: navigation.gateways, path: "/gateways", key: "w" },
    { title: navigation.loadBalancers, path: "/load-balancers", key: "l" },
    { title: navigation.firewalls, path: "/firewalls", key: "f" },
    { title: navigation.publicIps, path: "/public-ips", key: "i" },
    { title: navigation.domains, path: "/domains", key: "d" },
    { title: navigation.certificates, path: "/certificates", key: "c" },
    { title: navigation.sshKeys, path: "/ssh-keys", key: "k" },
    { title: navigation.jobs, path: "/jobs", key: "j" },
    { title: navigation.usage, path: "/usage", key: "u" },
    { title: messages.segments.title, path: "/usage/segments" },
    { title: messages.usageEvents.title, path: "/usage/events" },
    ...organisationPages(session).map(({ id, path }) => ({
      title: messages.organisation.pages[id],
      path,
      key: keysOfOrganisation[id],
    })),
    ...(session.operator ? [] : [{ title: messages.organisation.switch, path: "/switch-organisation" }]),
    ...(session.operator
      ? [
          { title: navigation.operator, path: "/operator", key: "o" },
          { title: messages.operator.title, path: "/operator/regions" },
          { title: messages.agentUpdates.title, path: "/operator/agent-updates" },
        ]
      : []),
  ];
  const acts = [
    { title: search.create.server, path: "/servers/new", permission: "server:create" },
    { title: search.create.network, path: "/networks/new", permission: "network:create" },
    { title: search.create.firewall, path: "/firewalls/new", permission: "firewall:create" },
    { title: search.create.gateway, path: "/gateways/new", permission: "gateway:create" },
    {
      title: search.create.loadBalancer,
      path: "/load-balancers/new",
      permission: "load_balancer:write",
    },
    { title: search.create.publicIp, path: "/public-ips/new", permission: "public_ip:create" },
    { title: search.create.domain, path: "/domains/new", permission: "domain:create" },
    { title: search.create.certificate, path: "/certificates/new", permission: "certificate:create" },
    { title: search.create.sshKey, path: "/ssh-keys/new", permission: "ssh_key:create" },
    { title: messages.invitations.act, path: "/members/invite", permission: "member:manage" },
    { title: messages.tokens.create, path: "/tokens/new", permission: "token:manage" },
  ];
  const operatorActs = [
    { title: messages.organisations.create, path: "/organisations/new" },
    { title: messages.ipPools.create, path: "/ip-pools/new" },
    { title: messages.regionAdmin.create, path: "/operator/regions/new" },
  ];
  return {
    pages,
    acts: [
      ...acts
        .filter(({ permission }) => may(session, permission))
        .map(({ title, path }) => ({ title, path })),
      ...(session.operator ? operatorActs : []),
    ],
  };
}

/** The places whose title has a word that starts with each word of the text; case folding depends on the language. */
export function placesNamed(places: readonly Place[], text: string, locale: string): Place[] {
  const words = wordsOf(text, locale);
  return places.filter(({ title }) => {
    const titleWords = wordsOf(title, locale);
    return words.every((word) => titleWords.some((each) => each.startsWith(word)));
  });
}

function wordsOf(text: string, locale: string): string[] {
  return text.toLocaleLowerCase(locale).split(/\s+/).filter(Boolean);
}
