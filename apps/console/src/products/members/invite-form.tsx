import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { MembersPageProps } from "./props.ts";
import { isRole, RoleField } from "./role-fields.tsx";

export function InviteForm(props: MembersPageProps) {
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

export const lifetimesDays = [1, 3, 7, 14, 30];
