import type { Schemas } from "@kule/contract/schemas";

/** The server or the gateway of an address, as a link; a text when it is not attached. */
export function AttachedTo(props: { readonly ip: Schemas["PublicIp"]; readonly none: string }) {
  const { attached_to: place } = props.ip;
  if (place === null) return <span>{props.none}</span>;
  return <a href={`/${place.type === "server" ? "servers" : "gateways"}/${place.id}`}>{place.name}</a>;
}
