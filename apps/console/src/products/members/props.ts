import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";

export type MembersPageProps = {
  readonly view: View;
  readonly me: Schemas["Me"];
  readonly members: Schemas["MemberList"];
  /** Null for roles that may not see them. */
  readonly invitations: Schemas["InvitationList"] | null;
  readonly showsAll: boolean;
  readonly cursor: string | undefined;
  /** The link of an invitation that was just created. */
  readonly link: string | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export type InvitePageProps = {
  readonly view: View;
  readonly me: Schemas["Me"];
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};
