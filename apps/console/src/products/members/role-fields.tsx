import { type OrganisationRole, roleAtMost } from "@kule/rules/identity/permissions";
import type { FieldProblems } from "../../layout/fields.tsx";
import { Problem } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import { type Role, roles } from "./roles-panel.tsx";

/** A choice of the roles that this person may grant; the `RoleGuide` of the same page explains each. */
export function RoleField(props: {
  readonly view: View;
  readonly id: string;
  readonly value: Role;
  /**
   * The role of the person who chooses: nobody grants a role above their own. Null for operators, who act as owners.
   */
  readonly ceiling: OrganisationRole | null;
  readonly problems: FieldProblems;
}) {
  const { view, id, value, ceiling } = props;
  const { roles: text, members } = view.messages;
  const problems = props.problems.role;
  const offered = roles.filter((role) => ceiling === null || roleAtMost(role, ceiling));
  return (
    <div class="field" data-invalid={problems === undefined ? undefined : "true"}>
      <label for={id}>{members.role}</label>
      <select id={id} name="role" aria-describedby={problems === undefined ? undefined : "role-problem"}>
        {offered.map((role) => (
          <option value={role} selected={role === value}>
            {text[role]}
          </option>
        ))}
      </select>
      <Problem name="role" problems={problems} />
    </div>
  );
}

export function isRole(text: string): text is Role {
  return roles.some((role) => role === text);
}
