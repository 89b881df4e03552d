import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { RoleField } from "../members/role-fields.tsx";
import type { TokenCreatePageProps } from "./props.ts";
import { accesses, scopeGroups } from "./typed-scopes.ts";

const lifetimesDays = [1, 7, 30, 90, 365];

/** The form of a new token: its name, its permissions, and its expiry. */
export function CreateToken(props: TokenCreatePageProps) {
  const { view, me, draft, idempotencyKey } = props;
  const text = view.messages.tokens;
  const problems = props.form?.problems ?? noProblems;
  return (
    <>
      <form class="form token-form" method="post" action="/tokens/new">
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <TextField
          view={view}
          name="name"
          label={text.name}
          value={draft.name}
          hint={text.nameHint}
          problems={problems}
          required
          maxlength={100}
          autofocus={props.form === null || problems.name !== undefined}
        />
        <RoleField view={view} id="token-role" value={draft.role} ceiling={me.role} problems={problems} />
        <SelectField
          name="expires_in_days"
          label={text.expires}
          value={draft.expiresInDays}
          options={(view.session?.operator === true ? [1] : lifetimesDays).map((days) => ({
            value: String(days),
            label: text.days(days),
          }))}
          problems={problems}
        />
        {view.session?.operator === true ? (
          <TextField
            view={view}
            name="reason"
            label={text.reason}
            value={draft.reason}
            hint={text.reasonHint}
            problems={problems}
            required
            maxlength={300}
          />
        ) : null}
        <Access {...props} />
        <button type="submit" class="button" data-kind="primary">
          {text.create}
        </button>
      </form>
      <ApiCall
        view={view}
        id="create-call"
        operation="createToken"
        body={{
          name: draft.name || "ci",
          role: draft.role,
          ...(draft.scopes === null || draft.scopes.length === 0 ? {} : { scopes: draft.scopes }),
          expires_in_days: Number(draft.expiresInDays),
          ...(view.session?.operator === true ? { reason: draft.reason || "ticket 4711" } : {}),
        }}
      />
    </>
  );
}

function Access({ view, me, draft, form }: TokenCreatePageProps) {
  const text = view.messages.tokens;
  const problems = form?.problems.scopes;
  const labels = { all: text.accessAll, read: text.accessRead, chosen: text.accessChosen };
  return (
    <fieldset class="choices-plain" aria-describedby={problems === undefined ? undefined : "scopes-problem"}>
      <legend>{text.access}</legend>
      {accesses.map((access) => (
        <label class="check">
          <input type="radio" name="access" value={access} checked={draft.access === access} />
          <span>{labels[access]}</span>
        </label>
      ))}
      <Problem name="scopes" problems={problems} />
      <details class="scopes" open={draft.access === "chosen"}>
        <summary>{text.choose}</summary>
        <p class="hint">{text.chooseHint}</p>
        <div class="scope-groups">
          {[...scopeGroups(me.role ?? "owner")].map(([resource, permissions]) => (
            <fieldset>
              <legend>{text.resources[resource] ?? resource}</legend>
              {permissions.map((permission) => (
                <label class="check">
                  <input
                    type="checkbox"
                    name="scope"
                    value={permission}
                    checked={draft.scopes?.includes(permission) === true}
                  />
                  <code>{permission}</code>
                </label>
              ))}
            </fieldset>
          ))}
        </div>
      </details>
    </fieldset>
  );
}
