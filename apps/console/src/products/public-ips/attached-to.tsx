import type { Schemas } from "@kule/contract/schemas";

/** The server or the gateway that has an address, as a link; the text where nothing has it. */
export function AttachedTo(props: { readonly ip: Schemas["PublicIp"]; readonly none: string }) {
  const { attached_to: place } = props.ip;
  if (place === null) return <span>{props.none}</span>;
  return <a href={`/${place.type === "server" ? "servers" : "gateways"}/${place.id}`}>{place.name}</a>;
}
