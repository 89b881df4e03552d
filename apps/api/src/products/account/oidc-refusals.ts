import type { OidcProvider } from "@kule/region-config/oidc-file";
import type { OidcDefect } from "@kule/rules/identity/oidc";
import { signInRefused } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";

/** Why a person whom the provider has confirmed is refused. */
export type NotLetIn =
  | OidcDefect
  | "invited"
  | "organisation_has_room"
  | "not_yet_an_account"
  | "identity_is_free";

const texts: { readonly [why in NotLetIn]: (label: string) => readonly [message: string, fix: string] } = {
  email_verified: (label) => [
    `${label} does not say that your e-mail address is yours`,
    `have the address verified at ${label}`,
  ],
  email_domain_allowed: (label) => [
    `addresses like yours do not sign in with ${label} here`,
    `use another account at ${label}`,
  ],
  invited: () => [
    "you do not belong to an organisation yet",
    "open the link of an invitation to your e-mail address",
  ],
  organisation_has_room: () => [
    "the organisation that people join here has no place left",
    "ask a member of it to free capacity, or an operator to raise its limit",
  ],
  not_yet_an_account: (label) => [
    "there is an account with your e-mail address already, and it is not linked",
    `sign in to it as before, then link ${label} in its security settings`,
  ],
  identity_is_free: (label) => [
    `this account at ${label} is linked already`,
    "unlink it where it is linked, or use another one",
  ],
};

/** The provider has done its part; this is ours. */
export function notLetIn(why: NotLetIn, provider: OidcProvider): Conflict {
  const [message, fix] = texts[why](provider.label);
  return new Conflict(signInRefused(why, message, { fix }));
}
