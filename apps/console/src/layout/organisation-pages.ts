import { may, type Session } from "../session.ts";

const pages = [
  ["members", "/members", "member:read"],
  ["tokens", "/tokens", "token:read"],
  ["audit", "/audit", "audit:read"],
  ["quotas", "/quotas", "quota:read"],
] as const;

export type OrganisationPage = (typeof pages)[number][0];

/** The pages of the organisation itself that the session's role opens. */
export function organisationPages(
  session: Session | null,
): readonly { readonly id: OrganisationPage; readonly path: string }[] {
  return pages
    .filter(([, , permission]) => session !== null && may(session, permission))
    .map(([id, path]) => ({ id, path }));
}
