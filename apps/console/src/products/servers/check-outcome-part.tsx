import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { RemedyLink } from "../../layout/page-notice.tsx";
import type { View } from "../../layout/view.ts";
import { conflictText } from "../../problem-messages.ts";
import { remedyOf } from "../../remedy.ts";

/** The result of a dry run of a form's request, or why there was none. */
export type Check<DryRun extends Blocked = Schemas["DryRun"]> = "unchecked" | "away" | "refused" | DryRun;

type Blocked = { readonly blockers: readonly Schemas["Precondition"][] };

/** Whether there are refusals, so that sending the form would fail. */
export const isBlocked = (check: Check<Blocked>): boolean =>
  typeof check === "object" && check.blockers.length > 0;

type Props = {
  readonly view: View;
  readonly check: Check<Blocked>;
  /** The texts of the form: the request would succeed, it would not, and how the check runs. */
  readonly texts: { readonly ready: string; readonly blocked: string; readonly unchecked: string };
};

/** Whether the form's request would succeed, and the refusals if not. */
export function CheckOutcome({ view, check, texts }: Props) {
  const { messages } = view;
  if (check === "unchecked") return <p class="hint">{texts.unchecked}</p>;
  if (check === "refused") return <p class="hint">{messages.create.refused}</p>;
  if (check === "away") return <p class="hint">{messages.create.uncheckable}</p>;
  if (check.blockers.length === 0)
    return (
      <p class="ready">
        <Icon name="check" size={17} />
        {texts.ready}
      </p>
    );
  return (
    <div class="blockers">
      <p>
        <Icon name="alert" size={17} />
        {texts.blocked}
      </p>
      <ul>
        {check.blockers.map((blocker) => (
          <li>
            {conflictText(blocker, messages)}
            <RemedyLink remedy={remedyOf(blocker, view)} />
          </li>
        ))}
      </ul>
    </div>
  );
}
