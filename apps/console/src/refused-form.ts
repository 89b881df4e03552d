import { conflictOf, type Outcome, type Problem } from "./api.ts";
import type { ConsoleContext } from "./console-context.ts";
import { type FieldProblems, noProblems } from "./layout/fields.tsx";
import type { View } from "./layout/view.ts";
import type { PageBanner } from "./page-banner.ts";
import { fieldProblems, problemText, sentence } from "./problem-messages.ts";
import { remedyOf } from "./remedy.ts";

/** A form with the person's input and the errors beside its fields. */
export type RefusedForm = {
  /** The form's key on the page. */
  readonly of: string;
  readonly values: Readonly<Record<string, string>>;
  readonly problems: FieldProblems;
};

/** The refused form, if it has that name. */
export function refusedForm(form: RefusedForm | null, of: string): RefusedForm | null {
  return form?.of === of ? form : null;
}

/** The problems of a form, if it is the refused one. */
export function problemsOf(form: RefusedForm | null, of: string): FieldProblems {
  return refusedForm(form, of)?.problems ?? noProblems;
}

/** The input of a field of the refused form; the fallback on a fresh page. */
export function typedIn(form: RefusedForm | null, of: string, field: string, fallback: string): string {
  return refusedForm(form, of)?.values[field] ?? fallback;
}

/** Keeps the input and its errors while the page around the form refreshes by itself. */
export function keptForm(form: RefusedForm | null, of: string): { readonly "hx-morph-skip"?: "" } {
  return refusedForm(form, of) === null ? {} : { "hx-morph-skip": "" };
}

/** Where a refusal belongs in a form. A refusal without a place is shown above the page. */
export type ErrorPlaces = {
  /** The fields whose names are in the pointers of the body's errors, or a function from pointer to field. */
  readonly fields?: readonly string[] | ((pointer: string) => string | null);
  /** The field of a conflict, by its code. */
  readonly conflicts?: Readonly<Record<string, string>>;
  /** The one field that all errors belong to. */
  readonly everything?: string;
  /** The message for a wrong field in place of the API's own words, where those are not precise enough. */
  readonly said?: Readonly<Record<string, string | undefined>>;
};

type Refusal = { readonly form: RefusedForm; readonly banner: PageBanner; readonly status: 409 | 422 };

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
  errorPlaces: ErrorPlaces,
): Refusal {
  return refusalOf(conflictOf(outcome), context.get("view"), of, values, errorPlaces);
}

/** Sorts the API's refusal of a form into messages beside its fields and messages above the page. */
export function refusalOf(
  problem: Problem,
  view: View,
  of: string,
  values: Readonly<Record<string, string>>,
  errorPlaces: ErrorPlaces,
): Refusal {
  const { messages } = view;
  if (problem.status === 422) {
    const { fields, rest } = fieldProblems(problem, messages, (pointer) => fieldOf(pointer, errorPlaces));
    const problems = Object.fromEntries(
      Object.entries(fields).map(([name, texts]) => {
        const own = errorPlaces.said?.[name];
        return [name, own === undefined ? texts : [own]];
      }),
    );
    const banner: PageBanner = rest.length === 0 ? null : { kind: "problem", text: rest.join(" ") };
    return { form: { of, values, problems }, banner, status: 422 };
  }
  const text = sentence(problemText(problem, messages), messages.locale);
  const field = errorPlaces.everything ?? errorPlaces.conflicts?.[problem.precondition?.code ?? problem.code];
  return {
    form: { of, values, problems: field === undefined ? noProblems : { [field]: [text] } },
    banner:
      field === undefined ? { kind: "problem", text, remedy: remedyOf(problem.precondition, view) } : null,
    status: 409,
  };
}

function fieldOf(pointer: string, { everything, fields }: ErrorPlaces): string | null {
  if (everything !== undefined) return everything;
  if (typeof fields === "function") return fields(pointer);
  return fields?.find((name) => pointer.split("/").includes(name)) ?? null;
}
