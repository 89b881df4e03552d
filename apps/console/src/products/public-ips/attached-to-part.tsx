import type { Schemas } from "@kule/contract/schemas";

const lists = { server: "servers", gateway: "gateways", load_balancer: "load-balancers" } as const;

/** The server, the gateway or the load balancer of an address, as a link; a text when it is not attached. */
export function AttachedTo(props: { readonly ip: Schemas["PublicIp"]; readonly none: string }) {
  const { attached_to: place } = props.ip;
  if (place === null) return <span>{props.none}</span>;
  return <a href={`/${lists[place.type]}/${place.id}`}>{place.name}</a>;
}
