import type { Schemas } from "@kule/contract/schemas";
import { organisationRoles, permissionsOf } from "@kule/rules/identity/permissions";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";

export type Role = Schemas["Role"];

/** From the most permissions to the least. */
export const roles: readonly Role[] = [...organisationRoles].reverse();

/** Tasks that a role may do, each by a permission of the rule that the API itself uses. */
const tasks = [
  ["usage", "usage:read"],
  ["look", "server:read"],
  ["change", "server:create"],
  ["console", "server:console"],
  ["purge", "server:purge"],
  ["audit", "audit:read"],
  ["people", "member:manage"],
] as const;

/** The roles side by side: one line for each task. */
export function RoleGuide({ view }: { readonly view: View }) {
  const { roles: text } = view.messages;
  const lines = [
    ...tasks.map(([task, permission]) => ({
      task,
      may: (role: Role) => permissionsOf(role).includes(permission),
    })),
    { task: "owners" as const, may: (role: Role) => role === "owner" },
  ];
  return (
    <div class="panel">
      <div class="panel-head">
        <h2 id="roles-title">{text.compare}</h2>
      </div>
      <section class="wide-table" tabindex={0} aria-labelledby="roles-title">
        <table class="role-guide">
          <thead>
            <tr>
              <td></td>
              {roles.map((role) => (
                <th scope="col">{text[role]}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map(({ task, may }) => (
              <tr>
                <th scope="row">{text.tasks[task]}</th>
                {roles.map((role) => (
                  <td data-may={may(role) ? "" : undefined}>
                    {may(role) ? <Icon name="check" size={16} /> : <span aria-hidden="true">–</span>}
                    <span class="visually-hidden">{may(role) ? text.may : text.mayNot}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}
