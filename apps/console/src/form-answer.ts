import type { Outcome } from "./api.ts";
import type { ConsoleContext } from "./console-context.ts";
import type { PageBanner } from "./page-banner.ts";
import { type Beside, type RefusedForm, refuseForm } from "./refused-form.ts";

/** Draws a page with what stands above it, and with the form that came back in it. */
export type ShowForm = (
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) => Response | Promise<Response>;

/** One posted form of a page, and what the API said of it. */
export type FormEnd = {
  readonly outcome: Outcome<unknown>;
  /** The name of what the page says when it was done. */
  readonly notice: string;
  /** Which form of the page. */
  readonly of: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly beside?: Beside;
};

/** How the forms of one page are answered: back to it with a notice, or the page again with the refusal in its form. */
export function answersOf(pathOf: (context: ConsoleContext) => string, show: ShowForm) {
  return (context: ConsoleContext, end: FormEnd): Response | Promise<Response> => {
    const { outcome, notice, of, values = {}, beside = {} } = end;
    if (outcome.kind === "done") return context.redirect(`${pathOf(context)}?notice=${notice}`, 303);
    const { form, banner, status } = refuseForm(context, outcome, of, values, beside);
    return show(context, banner, form, status);
  };
}

/** Of what is taken away: that somebody else was faster is what was wanted, too. */
export function orGone<Data>(outcome: Outcome<Data>): Outcome<Data | undefined> {
  const isGone = outcome.kind === "refused" && outcome.problem.status === 404;
  return isGone ? { kind: "done", data: undefined, replayed: false } : outcome;
}
