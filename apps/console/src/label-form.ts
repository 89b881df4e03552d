import { isLabelKey, isLabelValue } from "@kule/rules/labels/selector";
import { parseTypedLabels } from "@kule/rules/labels/typed-labels";
import type { ConsoleContext } from "./console-context.ts";
import type { FieldProblems } from "./layout/fields.tsx";
import type { Messages } from "./messages/messages.ts";
import type { ErrorPlaces } from "./refused-form.ts";

/** One form of a labels editor: the change that it requests, and where its page continues. */
export type PostedLabel = {
  /** The body contains this label only, so that concurrent changes of other labels are kept. */
  readonly labels: Readonly<Record<string, string | null>>;
  readonly notice: "labelled" | "unlabelled";
  readonly values: Readonly<Record<string, string>>;
  readonly errorPlaces: ErrorPlaces;
};

/** Reads a posted form of `EditLabels`. */
export function postedLabel(context: ConsoleContext): PostedLabel {
  const form = context.get("form");
  const { labels: texts } = context.get("view").messages;
  const key = (form.get("key") ?? "").trim();
  const value = (form.get("value") ?? "").trim();
  const isRemoved = form.get("intent") === "remove";
  // The API's errors name the label only, not whether its key or its value is wrong.
  const isValueWrong = isLabelKey(key) && !isLabelValue(value);
  return {
    labels: { [key]: isRemoved ? null : value },
    notice: isRemoved ? "unlabelled" : "labelled",
    values: { key, value, ...(form.get("row") === "true" ? { row: "true" } : {}) },
    errorPlaces: {
      fields: (pointer) => (pointer.startsWith("/labels") ? (isValueWrong ? "value" : "key") : null),
      // A refusal of neither, such as one label too many, uses the API's own words.
      said: {
        key: isLabelKey(key) ? undefined : texts.wrongKey,
        value: isValueWrong ? texts.wrongValue : undefined,
      },
    },
  };
}

/** The labels of a create form, for its body. Invalid terms are included, so that the API refuses them. */
export function typedLabels(text: string): { readonly labels?: Record<string, string> } {
  const { labels } = parseTypedLabels(text);
  return Object.keys(labels).length === 0 ? {} : { labels: { ...labels } };
}

/** The message beside the field, in place of the API's words, which do not know the input. */
export function labelErrorText(text: string, messages: Messages): string | undefined {
  const [first] = parseTypedLabels(text).wrong;
  return first === undefined ? undefined : messages.labels.wrongTyped[first.wrong](first.term);
}

/** The problems of a form, with more precise messages for its labels. */
export function withLabelProblem(problems: FieldProblems, text: string, messages: Messages): FieldProblems {
  const said = labelErrorText(text, messages);
  return said === undefined || problems.labels === undefined ? problems : { ...problems, labels: [said] };
}
