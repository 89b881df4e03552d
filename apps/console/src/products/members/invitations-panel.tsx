import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { refusedForm } from "../../refused-form.ts";
import type { MembersPageProps } from "./members-page.tsx";
import { isRole, RoleField } from "./role-field.tsx";

type Invitation = Schemas["Invitation"];

const tones: Readonly<Record<Invitation["status"], Tone>> = {
  open: "busy",
  accepted: "good",
  expired: "idle",
  revoked: "idle",
};
const lifetimesDays = [1, 3, 7, 14, 30];

/** Who is invited, and the form that invites. */
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
      <RevokeCall view={view} items={invitations.items} />
      <InviteForm {...props} />
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

/** How the first of the open ones is withdrawn. */
function RevokeCall({ view, items }: { readonly view: View; readonly items: readonly Invitation[] }) {
  const open = items.find(({ status }) => status === "open");
  if (open === undefined) return null;
  return (
    <ApiCall
      view={view}
      id="revoke-call"
      label={view.messages.actions["invitation.revoke"]}
      operation="revokeInvitation"
      path={{ invitation_id: open.id }}
    />
  );
}

function InviteForm(props: MembersPageProps) {
  const { view, me, idempotencyKey } = props;
  const text = view.messages.invitations;
  const form = refusedForm(props.form, "invite");
  const problems = form?.problems ?? noProblems;
  const role = form?.values.role ?? "";
  const chosen = isRole(role) ? role : "member";
  const expires = form?.values.expires_in_days ?? "7";
  return (
    <>
      <form class="form invite-form" method="post" action="/members/invitations">
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-invite`} />
        <TextField
          view={view}
          name="email"
          label={text.email}
          type="email"
          value={form?.values.email ?? ""}
          problems={problems}
          required
          maxlength={254}
          autofocus={form !== null}
        />
        <RoleField view={view} id="invite-role" value={chosen} ceiling={me.role} problems={problems} />
        <SelectField
          name="expires_in_days"
          label={text.expires}
          value={expires}
          options={lifetimesDays.map((days) => ({ value: String(days), label: text.days(days) }))}
          problems={problems}
        />
        <button type="submit" class="button" data-kind="primary">
          {text.invite}
        </button>
      </form>
      <ApiCall
        view={view}
        id="invite-call"
        operation="createInvitation"
        body={{
          email: form?.values.email || "grace@example.org",
          role: chosen,
          expires_in_days: Number(expires),
        }}
      />
    </>
  );
}
