import type { Schemas } from "@kule/contract/schemas";

type Named = Pick<Schemas["Target"], "server_id" | "label_selector" | "address">;

/** What its owner calls a target: the server's name, the selector or the address. */
export function targetName(
  { server_id, label_selector, address }: Named,
  servers: readonly { readonly id: string; readonly name: string }[],
): string {
  if (server_id === null) return label_selector ?? address ?? "";
  return servers.find(({ id }) => id === server_id)?.name ?? server_id;
}
