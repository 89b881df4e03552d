import type { Schemas } from "@kule/contract/schemas";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";

/** The organisations of a person, with a button that switches to each. */
export function SwitchPage(props: {
  readonly view: View;
  readonly organisations: readonly Schemas["MyOrganisation"][];
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
}) {
  const { view, organisations } = props;
  const { messages } = view;
  const text = messages.organisation;
  const other = { organisation_id: organisations.find(({ current }) => !current)?.id ?? "org_…" };
  return (
    <Shell view={view} title={text.switch} section="organisation">
      <PageHead
        title={text.switch}
        lead={organisations.length > 1 ? text.switchLead : text.onlyOne}
        api={
          <ApiDrawer
            view={view}
            calls={[
              { operation: "leaveOrganisation", path: other },
              { operation: "switchOrganisation", body: other },
            ]}
          />
        }
      />
      <PageNotice banner={props.banner} />
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
              <details class="confirm">
                <summary class="button">{text.leaveNamed(each.name)}</summary>
                <form method="post" action="/leave-organisation">
                  <FormSeal view={view} idempotencyKey={`${props.idempotencyKey}-${each.id}`} />
                  <input type="hidden" name="organisation_id" value={each.id} />
                  <p>
                    <strong>{text.leaveQuestion(each.name)}</strong> {text.leaveHint}
                  </p>
                  <button type="submit" class="button" data-kind="danger">
                    {text.leave}
                  </button>
                </form>
              </details>
            </li>
          ))}
        </ul>
      </section>
    </Shell>
  );
}
