/** What a server can belong to. */
export type ServerOwner = {
  readonly type: "load_balancer" | "cluster";
  readonly id: string;
  readonly name: string;
};

const words: { readonly [type in ServerOwner["type"]]: string } = {
  load_balancer: "load balancer",
  cluster: "cluster",
};
const paths: { readonly [type in ServerOwner["type"]]: string } = {
  load_balancer: "/load-balancers",
  cluster: "/k8s/clusters",
};

/** Why nobody but the owner changes the server. */
export const managedReason = ({ type, name }: ServerOwner): string =>
  `The server is managed by the ${words[type]} ${name}`;

/** Where the server can be changed instead. */
export const changeTheOwner = ({ type, id }: ServerOwner): string =>
  `Change the ${words[type]} instead: PATCH or DELETE ${paths[type]}/${id}`;

const prefixes = /^(lb|k8s)_/;

/** Whether an identifier is one of something that servers can belong to. */
export const isOwnerId = (id: string): boolean => prefixes.test(id);
