import type { Messages } from "../../messages/messages.ts";

/** The action in words; its code when an older entry has an action that the contract no longer has. */
export function actionText({ actions }: Messages, action: string): string {
  return Object.hasOwn(actions, action) ? actions[action as keyof typeof actions] : action;
}

/** All actions with their texts, sorted by text. */
export function actionOptions({
  actions,
  locale,
}: Messages): { readonly value: string; readonly label: string }[] {
  return Object.entries(actions)
    .map(([value, label]) => ({ value, label }))
    .sort((a, b) => a.label.localeCompare(b.label, locale));
}
