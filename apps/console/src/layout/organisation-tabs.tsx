import { may, type Session } from "../session.ts";
import type { View } from "./view.ts";

const tabs = [
  ["members", "/members", "member:read"],
  ["tokens", "/tokens", "token:read"],
  ["audit", "/audit", "audit:read"],
  ["quotas", "/quotas", "quota:read"],
] as const;

export type OrganisationTab = (typeof tabs)[number][0];

/** The pages of the organisation itself that the session's role opens. */
export function organisationPages(
  session: Session | null,
): readonly { readonly id: OrganisationTab; readonly path: string }[] {
  return tabs
    .filter(([, , permission]) => session !== null && may(session, permission))
    .map(([id, path]) => ({ id, path }));
}

export function OrganisationTabs({
  view,
  current,
}: {
  readonly view: View;
  readonly current: OrganisationTab;
}) {
  const { organisation } = view.messages;
  return (
    <nav class="tabs" aria-label={organisation.label}>
      {organisationPages(view.session).map(({ id, path }) => (
        <a href={path} aria-current={id === current ? "page" : undefined}>
          {organisation.tabs[id]}
        </a>
      ))}
    </nav>
  );
}
