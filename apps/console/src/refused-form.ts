import { conflictOf, type Outcome } from "./api.ts";
import type { ConsoleContext } from "./console-context.ts";
import type { FieldProblems } from "./layout/fields.tsx";
import { fieldProblems, problemText, sentence } from "./problem-messages.ts";

/** A form as it was typed, with what is wrong beside its fields. */
export type RefusedForm = {
  /** Which form of the page. */
  readonly of: string;
  readonly values: Readonly<Record<string, string>>;
  readonly problems: FieldProblems;
};

export type PageBanner = { readonly kind: "notice" | "problem" | "warning"; readonly text: string } | null;

/** The refused form, if it is the one of that name. */
export function refusedForm(form: RefusedForm | null, of: string): RefusedForm | null {
  return form?.of === of ? form : null;
}

/** Where a refusal belongs in a form. What belongs nowhere stands above the page. */
export type Beside = {
  /** Field errors by their pointer, whose last name is the field's. */
  readonly fields?: readonly string[];
  /** The field of a conflict, by its code. */
  readonly conflicts?: Readonly<Record<string, string>>;
  /** The one field that everything is about. */
  readonly everything?: string;
};

/**
 * A form to be shown again, with the API's refusal in it.
 *
 * @throws ApiAway, ApiRefused for what no form can show
 */
export function refuseForm(
  context: ConsoleContext,
  outcome: Exclude<Outcome<unknown>, { readonly kind: "done" }>,
  of: string,
  values: Readonly<Record<string, string>>,
  beside: Beside,
): { readonly form: RefusedForm; readonly banner: PageBanner; readonly status: 409 | 422 } {
  const problem = conflictOf(outcome);
  const { messages } = context.get("view");
  if (problem.status === 422) {
    const { fields, rest } = fieldProblems(
      problem,
      messages,
      (pointer) =>
        beside.everything ?? beside.fields?.find((name) => pointer.split("/").includes(name)) ?? null,
    );
    return {
      form: { of, values, problems: fields },
      banner: rest.length === 0 ? null : { kind: "problem", text: rest.join(" ") },
      status: 422,
    };
  }
  const text = sentence(problemText(problem, messages), messages.locale);
  const field = beside.everything ?? beside.conflicts?.[problem.code];
  return {
    form: { of, values, problems: field === undefined ? {} : { [field]: [text] } },
    banner: field === undefined ? { kind: "problem", text } : null,
    status: 409,
  };
}
