import type { Schemas } from "@kule/contract/schemas";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import type { MembersPageProps } from "./props.ts";

type Invitation = Schemas["Invitation"];

const tones: Readonly<Record<Invitation["status"], Tone>> = {
  open: "busy",
  accepted: "good",
  expired: "idle",
  revoked: "idle",
};

/** The invitations: those that wait for an answer, or all. */
export function Invitations(props: MembersPageProps) {
  const { view, invitations, showsAll } = props;
  const text = view.messages.invitations;
  if (invitations === null) return null;
  return (
    <section class="panel" id="invitations" aria-labelledby="invitations-title">
      <div class="panel-head">
        <h2 id="invitations-title">{text.title}</h2>
        <a href={showsAll ? "/members#invitations" : "/members?invitations=all#invitations"}>
          {showsAll ? text.showOpen : text.showAll}
        </a>
      </div>
      <p class="panel-lead">{text.lead}</p>
      {invitations.items.length === 0 ? (
        <p class="hint">{text.empty}</p>
      ) : (
        <InvitationTable {...props} items={invitations.items} />
      )}
    </section>
  );
}

function InvitationTable(props: MembersPageProps & { readonly items: readonly Invitation[] }) {
  const { view, items, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.invitations;
  return (
    <table class="list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{text.email}</th>
          <th scope="col">{text.role}</th>
          <th scope="col">{messages.common.status}</th>
          <th scope="col">{text.by}</th>
          <th scope="col">{text.until}</th>
          <td></td>
        </tr>
      </thead>
      <tbody>
        {items.map((invitation) => (
          <tr id={invitation.id}>
            <th scope="row" class="breakable">
              {invitation.email}
            </th>
            <td data-label={text.role}>{messages.roles[invitation.role]}</td>
            <td data-label={messages.common.status}>
              <Status tone={tones[invitation.status]}>{text.status[invitation.status]}</Status>
            </td>
            <td data-label={text.by}>{invitation.invited_by.name ?? invitation.invited_by.id}</td>
            <td data-label={text.until}>
              <When view={view} time={invitation.expires_at} />
            </td>
            <td class="row-act">
              {invitation.status !== "open" ? null : (
                <form method="post" action={`/members/invitations/${invitation.id}/revoke`}>
                  <FormSeal view={view} idempotencyKey={`${idempotencyKey}-revoke-${invitation.id}`} />
                  <button type="submit" class="button" aria-label={text.revokeOf(invitation.email)}>
                    {text.revoke}
                  </button>
                </form>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
