import type { Schemas } from "@kule/contract/schemas";
import { mergeLabels } from "@kule/rules/labels/merge";
import type { Answer } from "./fake-operation.ts";

type Fail = (
  status: number,
  code: Schemas["ErrorCode"],
  detail: string,
  more?: Partial<Schemas["Problem"]>,
) => Answer;

/** Applies a body's changes to a resource; labels one by one, as the API does, and never beyond their limit. */
export function relabelled<Resource extends { labels: Record<string, string> }>(
  resource: Resource,
  body: { readonly labels?: Schemas["LabelChanges"] },
  fail: Fail,
  answer: (resource: Resource) => Answer,
): Answer {
  const { labels = {}, ...change } = body;
  const merged = mergeLabels(resource.labels, labels);
  if (!merged.ok) {
    const errors = [
      { field: "labels", pointer: "/labels", code: "too_long" as const, message: merged.message },
    ];
    return fail(422, "validation_failed", "The request is wrong", { errors });
  }
  return answer(Object.assign(resource, change, { labels: { ...merged.labels } }));
}
