import { isLabelKey, isLabelValue } from "@kule/rules/labels/selector";
import { parseTypedLabels } from "@kule/rules/labels/typed-labels";
import type { ConsoleContext } from "./console-context.ts";
import type { FieldProblems } from "./layout/fields.tsx";
import type { Messages } from "./messages/messages.ts";
import type { Beside } from "./refused-form.ts";

/** One form of a labels editor: the change it asks for, and how its page goes on. */
export type PostedLabel = {
  /** Of the body: this label alone, so that what others changed meanwhile stays. */
  readonly labels: Readonly<Record<string, string | null>>;
  readonly notice: "labelled" | "unlabelled";
  readonly values: Readonly<Record<string, string>>;
  readonly beside: Beside;
};

/** Reads a posted form of `EditLabels`. */
export function postedLabel(context: ConsoleContext): PostedLabel {
  const form = context.get("form");
  const { labels: texts } = context.get("view").messages;
  const key = (form.get("key") ?? "").trim();
  const value = (form.get("value") ?? "").trim();
  const isRemoved = form.get("intent") === "remove";
  // The API's errors name the label alone, not which of its two halves is wrong.
  const isValueWrong = isLabelKey(key) && !isLabelValue(value);
  return {
    labels: { [key]: isRemoved ? null : value },
    notice: isRemoved ? "unlabelled" : "labelled",
    values: { key, value, ...(form.get("row") === "true" ? { row: "true" } : {}) },
    beside: {
      fields: (pointer) => (pointer.startsWith("/labels") ? (isValueWrong ? "value" : "key") : null),
      // What is wrong with neither, such as one label too many, the API says itself.
      said: {
        key: isLabelKey(key) ? undefined : texts.wrongKey,
        value: isValueWrong ? texts.wrongValue : undefined,
      },
    },
  };
}

/** The labels of a form that makes something, for its body. Wrong terms go with them: the API refuses those. */
export function typedLabels(text: string): { readonly labels?: Record<string, string> } {
  const { labels } = parseTypedLabels(text);
  return Object.keys(labels).length === 0 ? {} : { labels: { ...labels } };
}

/** What stands beside the field in place of the API's words, which do not know what was typed. */
export function saidOfLabels(text: string, messages: Messages): string | undefined {
  const [first] = parseTypedLabels(text).wrong;
  return first === undefined ? undefined : messages.labels.wrongTyped[first.wrong](first.term);
}

/** The problems of a form with what is wrong with its labels said more exactly. */
export function withLabelProblem(problems: FieldProblems, text: string, messages: Messages): FieldProblems {
  const said = saidOfLabels(text, messages);
  return said === undefined || problems.labels === undefined ? problems : { ...problems, labels: [said] };
}
