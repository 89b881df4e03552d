import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { FormSeal, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

/** The organisations that a person belongs to, and the way from one to another. */
export function SwitchPage(props: {
  readonly view: View;
  readonly organisations: readonly Schemas["MyOrganisation"][];
}) {
  const { view, organisations } = props;
  const { messages } = view;
  const text = messages.organisation;
  return (
    <Shell view={view} title={text.switch} section="organisation">
      <PageHead title={text.switch} lead={organisations.length > 1 ? text.switchLead : text.onlyOne} />
      <section class="panel" aria-label={text.switch}>
        <ul class="rows">
          {organisations.map((each) => (
            <li>
              <form class="row-form" method="post" action="/switch-organisation">
                <FormSeal view={view} />
                <input type="hidden" name="organisation_id" value={each.id} />
                <div>
                  <strong>{each.name}</strong>
                  <span class="hint">
                    {each.slug} · {messages.roles[each.role]}
                  </span>
                </div>
                {each.current ? (
                  <Status tone="good">{text.current}</Status>
                ) : (
                  <button type="submit" class="button">
                    {text.enter(each.name)}
                  </button>
                )}
              </form>
            </li>
          ))}
        </ul>
      </section>
      <ApiCall
        view={view}
        id="switch-call"
        operation="switchOrganisation"
        body={{ organisation_id: organisations.find(({ current }) => !current)?.id ?? "org_…" }}
      />
    </Shell>
  );
}
