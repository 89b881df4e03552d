import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { OrganisationTabs } from "../../layout/organisation-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead, Pages } from "../../layout/parts.tsx";
import { SecretPanel } from "../../layout/secret-panel.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { Invitations } from "./invitations-panel.tsx";
import { MemberTable } from "./member-table.tsx";
import { RoleGuide } from "./role-guide.tsx";

export type MembersPageProps = {
  readonly view: View;
  readonly me: Schemas["Me"];
  readonly members: Schemas["MemberList"];
  /** Null for those who may not see them. */
  readonly invitations: Schemas["InvitationList"] | null;
  readonly showsAll: boolean;
  readonly cursor: string | undefined;
  /** The link of an invitation that was just made. */
  readonly link: string | null;
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export function MembersPage(props: MembersPageProps) {
  const { view, members, banner, link } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={messages.members.title} section="organisation">
      <OrganisationTabs view={view} current="members" />
      <PageHead title={messages.members.title} lead={messages.members.lead}>
        {/* Beside the link that is shown once there is nothing that leads away from it. */}
        {link === null ? <ListView view={view} list="members" columns={{}} /> : null}
      </PageHead>
      <PageNotice banner={banner} />
      {link === null ? null : (
        <SecretPanel
          view={view}
          title={messages.invitations.secret}
          lead={messages.invitations.secretLead}
          hint={messages.invitations.secretHint}
          secret={link}
          back="/members"
          stored={messages.invitations.stored}
        />
      )}
      <MemberTable {...props} />
      <Pages
        view={view}
        base="/members"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={members.next_cursor}
      />
      <Invitations {...props} />
      <RoleGuide view={view} />
      <ApiCall view={view} id="members-call" operation="listMembers" />
    </Shell>
  );
}
