import type { Outcome } from "./api.ts";
import type { ConsoleContext } from "./console-context.ts";
import type { PageBanner } from "./page-banner.ts";
import { type ErrorPlaces, type RefusedForm, refuseForm } from "./refused-form.ts";

/** Renders a page with the banner above it and the refused form in it. */
export type ShowForm = (
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) => Response | Promise<Response>;

/** One posted form of a page, and the API's answer to it. */
export type FormEnd = {
  readonly outcome: Outcome<unknown>;
  /** The name of the notice that the page shows after success. */
  readonly notice: string;
  /** The form's key on the page. */
  readonly of: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly errorPlaces?: ErrorPlaces;
};

/**
 * How the forms of one page are answered: a redirect to it with a notice, or the page again with the refusal in its
 * form.
 */
export function answersOf(pathOf: (context: ConsoleContext) => string, show: ShowForm) {
  return (context: ConsoleContext, end: FormEnd): Response | Promise<Response> => {
    const { outcome, notice, of, values = {}, errorPlaces = {} } = end;
    if (outcome.kind === "done") return context.redirect(`${pathOf(context)}?notice=${notice}`, 303);
    const { form, banner, status } = refuseForm(context, outcome, of, values, errorPlaces);
    return show(context, banner, form, status);
  };
}

/** For a deletion: if another request deleted it first, that counts as success. */
export function doneIfAbsent<Data>(outcome: Outcome<Data>): Outcome<Data | undefined> {
  const isGone = outcome.kind === "refused" && outcome.problem.status === 404;
  return isGone ? { kind: "done", data: undefined, replayed: false } : outcome;
}
