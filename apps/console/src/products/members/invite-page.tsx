import { CreateFrame } from "../../layout/create-frame.tsx";
import { InviteForm } from "./invite-form.tsx";
import type { InvitePageProps } from "./props.ts";
import { RoleGuide } from "./roles-panel.tsx";

/** Invites a person; the list of members then shows the invitation's link once. */
export function InvitePage(props: InvitePageProps) {
  const { view, banner } = props;
  const { members, invitations } = view.messages;
  return (
    <CreateFrame
      view={view}
      section="members"
      crumbs={[{ path: "/members", text: members.title }]}
      title={invitations.act}
      lead={invitations.lead}
      banner={banner}
      below={<RoleGuide view={view} />}
    >
      <InviteForm {...props} />
    </CreateFrame>
  );
}
