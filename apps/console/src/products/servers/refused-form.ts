import type { Problem } from "../../api.ts";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import type { Messages } from "../../messages/messages.ts";
import { fieldProblems, problemText } from "../../problem-messages.ts";

/** A form of a page that came back: which one, what was typed in it, and what is wrong with which field. */
export type RefusedForm = {
  readonly act: string;
  readonly values: URLSearchParams;
  readonly problems: FieldProblems;
};

type Refusal = { readonly form: RefusedForm; readonly banner: string | null };

type FieldTexts = Readonly<Record<string, string | undefined>>;

/** What a form is about: where an error in the body, or a conflict as a whole, is shown. */
export type FormFields = {
  readonly fieldOf?: (pointer: string) => string | null;
  /** The field that a conflict is about, by its code. */
  readonly conflicts?: Readonly<Record<string, string>>;
  /** What is said of a wrong field instead of the API's own words, where those leave too much open. */
  readonly said?: FieldTexts;
};

/** Sorts what the API said of a form into what belongs beside its fields and what belongs above the page. */
export function refusalOf(
  problem: Problem,
  act: string,
  values: URLSearchParams,
  fields: FormFields,
  messages: Messages,
): Refusal {
  const form = (problems: FieldProblems): RefusedForm => ({ act, values, problems });
  if (problem.status === 422) {
    const { fields: beside, rest } = fieldProblems(problem, messages, fields.fieldOf ?? (() => null));
    const said = Object.entries(beside).map(([name, texts]) => {
      const own = fields.said?.[name];
      return [name, own === undefined ? texts : [own]] as const;
    });
    return { form: form(Object.fromEntries(said)), banner: rest.length === 0 ? null : rest.join(" ") };
  }
  const text = problemText(problem, messages);
  const field = fields.conflicts?.[problem.precondition?.code ?? problem.code];
  if (field !== undefined) return { form: form({ [field]: [text] }), banner: null };
  return { form: form(noProblems), banner: text };
}

/** The problems of a form, when it is the one that came back. */
export function problemsOf(refused: RefusedForm | null, act: string): FieldProblems {
  return refused?.act === act ? refused.problems : noProblems;
}

/** What was typed into a field of the form that came back; the fallback on a fresh page. */
export function typedIn(refused: RefusedForm | null, act: string, field: string, fallback: string): string {
  return (refused?.act === act ? refused.values.get(field) : null) ?? fallback;
}

/** Keeps what was typed, and what is said about it, while the page around the form refreshes by itself. */
export function keptForm(refused: RefusedForm | null, act: string): { readonly "hx-morph-skip"?: "" } {
  return refused?.act === act ? { "hx-morph-skip": "" } : {};
}
