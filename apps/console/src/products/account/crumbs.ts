import type { Crumb } from "../../layout/crumbs-part.tsx";
import type { View } from "../../layout/view.ts";

/** The page above those of one action on the account. */
export function accountCrumbs({ messages }: View): readonly Crumb[] {
  return [{ path: "/account/security", text: messages.account.title }];
}
