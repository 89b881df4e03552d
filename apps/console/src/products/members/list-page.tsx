import { ApiCall } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { PageHead, Pages } from "../../layout/parts.tsx";
import { SecretPanel } from "../../layout/secret-panel.tsx";
import { Shell } from "../../layout/shell.tsx";
import { Invitations } from "./invitations-panel.tsx";
import { MemberTable } from "./list-table.tsx";
import type { MembersPageProps } from "./props.ts";
import { RoleGuide } from "./roles-panel.tsx";

export function MembersPage(props: MembersPageProps) {
  const { view, members, banner, link } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={messages.members.title} section="members">
      <PageHead title={messages.members.title} lead={messages.members.lead}>
        {/* A link that is shown once has no other links beside it that leave the page. */}
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
