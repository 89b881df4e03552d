import type { Messages } from "../../messages/messages.ts";

/** What was done, in words; its code where an older trail has one that the contract has no more. */
export function actionText({ actions }: Messages, action: string): string {
  return Object.hasOwn(actions, action) ? actions[action as keyof typeof actions] : action;
}

/** Every action that there is with its words, in their order. */
export function actionOptions({
  actions,
  locale,
}: Messages): { readonly value: string; readonly label: string }[] {
  return Object.entries(actions)
    .map(([value, label]) => ({ value, label }))
    .sort((a, b) => a.label.localeCompare(b.label, locale));
}
