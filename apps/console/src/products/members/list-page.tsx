import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { CreateLink, PageHead, Pages } from "../../layout/parts.tsx";
import { SecretPanel } from "../../layout/secret-panel.tsx";
import { Shell } from "../../layout/shell.tsx";
import { membersCalls } from "./calls.ts";
import { Invitations } from "./invitations-panel.tsx";
import { MemberTable } from "./list-table.tsx";
import type { MembersPageProps } from "./props.ts";
import { RoleGuide } from "./roles-panel.tsx";

export function MembersPage(props: MembersPageProps) {
  const { view, members, banner, link } = props;
  const { messages } = view;
  return (
    <Shell view={view} title={messages.members.title} section="members">
      <PageHead
        title={messages.members.title}
        lead={messages.members.lead}
        api={<ApiDrawer view={view} calls={membersCalls(props)} />}
      >
        {/* A link that is shown once has no other links beside it that leave the page. */}
        {link !== null ? null : (
          <>
            <ListView view={view} list="members" columns={{}} />
            {props.invitations === null ? null : (
              <CreateLink path="/members/invite">{messages.invitations.act}</CreateLink>
            )}
          </>
        )}
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
    </Shell>
  );
}
