import type { Crumb } from "./crumbs-part.tsx";
import type { View } from "./view.ts";

/** The way to a page of the installation: its first page, and the list that the page belongs to. */
export function operatorCrumbs({ messages }: View, list?: "regions" | "organisations"): readonly Crumb[] {
  const { navigation, operator } = messages;
  const paths = { regions: "/operator/regions", organisations: "/organisations" } as const;
  return [
    { path: "/operator", text: navigation.operator },
    ...(list === undefined ? [] : [{ path: paths[list], text: operator.tabs[list] }]),
  ];
}
