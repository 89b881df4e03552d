import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { InvitePageProps } from "./props.ts";
import { isRole, RoleField } from "./role-fields.tsx";

export function InviteForm({ view, me, form, idempotencyKey }: InvitePageProps) {
  const text = view.messages.invitations;
  const problems = form?.problems ?? noProblems;
  const role = form?.values.role ?? "";
  const chosen = isRole(role) ? role : "member";
  const expires = form?.values.expires_in_days ?? "7";
  return (
    <>
      <form class="form" method="post" action="/members/invite">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <TextField
          view={view}
          name="email"
          label={text.email}
          type="email"
          value={form?.values.email ?? ""}
          problems={problems}
          required
          maxlength={254}
          autofocus={form === null || problems.email !== undefined}
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
