import type { Schemas } from "@kule/contract/schemas";
import { roleAtMost } from "@kule/rules/identity/permissions";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { FormSeal, When } from "../../layout/parts.tsx";
import { may } from "../../session.ts";
import type { MembersPageProps } from "./props.ts";
import { RoleField } from "./role-fields.tsx";

type Member = Schemas["Member"];

/** All members of the organisation, with the actions for each. */
export function MemberTable(props: MembersPageProps) {
  const { view, members } = props;
  const { messages, session } = view;
  const text = messages.members;
  const manages = session !== null && may(session, "member:manage");
  return (
    <table class="list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{text.person}</th>
          <th scope="col">{text.role}</th>
          <th scope="col">{text.since}</th>
          {manages ? <td></td> : null}
        </tr>
      </thead>
      <tbody>
        {members.items.map((member) => (
          <tr id={member.id}>
            <th scope="row">
              {member.user.name}
              {member.user.id === props.me.user?.id ? <span class="tag">{text.you}</span> : null}
              <div class="hint breakable">{member.user.email}</div>
            </th>
            <td data-label={text.role}>
              <span title={messages.roles.does[member.role]}>{messages.roles[member.role]}</span>
            </td>
            <td data-label={text.since}>
              <When view={view} time={member.created_at} />
            </td>
            {manages ? (
              <td class="row-act">
                <Acts {...props} member={member} />
              </td>
            ) : null}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Acts(props: MembersPageProps & { readonly member: Member }) {
  const { view, me, member, idempotencyKey } = props;
  const text = view.messages.members;
  const { name } = member.user;
  if (me.role !== null && !roleAtMost(member.role, me.role)) return <p class="hint">{text.outOfReach}</p>;
  return (
    <div class="act-group">
      <details class="confirm">
        <summary class="button" aria-label={text.changeOf(name)}>
          {text.change}
        </summary>
        <form method="post" action={`/members/${member.id}/role`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-role-${member.id}`} />
          <RoleField
            view={view}
            id={`role-${member.id}`}
            value={member.role}
            ceiling={me.role}
            problems={noProblems}
          />
          <button type="submit" class="button" data-kind="primary">
            {text.save}
          </button>
          <ApiCall
            view={view}
            id={`role-call-${member.id}`}
            operation="updateMember"
            path={{ member_id: member.id }}
            body={{ role: member.role }}
          />
        </form>
      </details>
      {view.session?.operator === true ? <ResetPassword {...props} /> : null}
      {view.session?.operator === true && member.second_factor === true ? (
        <ResetSecondFactor {...props} />
      ) : null}
      <details class="confirm">
        <summary class="button" aria-label={text.removeOf(name)}>
          {text.remove}
        </summary>
        <form method="post" action={`/members/${member.id}/remove`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-remove-${member.id}`} />
          <p>
            <strong>{text.removeQuestion(name)}</strong>
          </p>
          <p class="hint">{text.removeHint}</p>
          <button type="submit" class="button" data-kind="danger">
            {text.remove}
          </button>
          <ApiCall
            view={view}
            id={`remove-call-${member.id}`}
            operation="removeMember"
            path={{ member_id: member.id }}
          />
        </form>
      </details>
    </div>
  );
}

/** Operators only: the account is the person's in all of their organisations. */
function ResetPassword({ view, member, idempotencyKey }: MembersPageProps & { readonly member: Member }) {
  const text = view.messages.passwordReset;
  const { name } = member.user;
  return (
    <details class="confirm">
      <summary class="button" aria-label={text.linkFor(name)}>
        {text.link}
      </summary>
      <form method="post" action={`/members/${member.id}/password-reset`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-password-${member.id}`} />
        <p>
          <strong>{text.linkQuestion(name)}</strong>
        </p>
        <p class="hint">{text.linkHint}</p>
        <button type="submit" class="button" data-kind="danger">
          {text.link}
        </button>
        <ApiCall
          view={view}
          id={`password-call-${member.id}`}
          operation="createPasswordReset"
          path={{ member_id: member.id }}
        />
      </form>
    </details>
  );
}

/** Operators only: the account is the person's in all of their organisations. */
function ResetSecondFactor({ view, member, idempotencyKey }: MembersPageProps & { readonly member: Member }) {
  const text = view.messages.identities;
  const { name } = member.user;
  return (
    <details class="confirm">
      <summary class="button" aria-label={text.resetOf(name)}>
        {text.reset}
      </summary>
      <form method="post" action={`/members/${member.id}/second-factor`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-second-factor-${member.id}`} />
        <p>
          <strong>{text.resetQuestion(name)}</strong>
        </p>
        <p class="hint">{text.resetHint}</p>
        <button type="submit" class="button" data-kind="danger">
          {text.reset}
        </button>
        <ApiCall
          view={view}
          id={`reset-call-${member.id}`}
          operation="resetSecondFactor"
          path={{ member_id: member.id }}
        />
      </form>
    </details>
  );
}
