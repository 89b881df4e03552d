import type { Schemas } from "@kule/contract/schemas";
import type { Crumb } from "../../layout/crumbs-part.tsx";
import type { View } from "../../layout/view.ts";

/** The way to a page of one action on a server, or without a server to the page that creates one. */
export function serverCrumbs(
  { messages }: View,
  server?: Pick<Schemas["Server"], "id" | "name">,
): readonly Crumb[] {
  return [
    { path: "/servers", text: messages.navigation.servers },
    ...(server === undefined ? [] : [{ path: `/servers/${server.id}`, text: server.name }]),
  ];
}
