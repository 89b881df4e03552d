import { certificates } from "../products/certificates/resource.ts";
import { domains } from "../products/domains/resource.ts";
import { firewalls } from "../products/firewalls/resource.ts";
import { gateways } from "../products/gateways/resource.ts";
import { loadBalancers } from "../products/load-balancers/resource.ts";
import { networks } from "../products/networks/resource.ts";
import { publicIps } from "../products/public-ips/resource.ts";
import { servers } from "../products/servers/resource.ts";
import { sshKeys } from "../products/ssh-keys/resource.ts";
import type { AnyItem, Resource } from "./resource.ts";

/** Resources whose pages have tabs, in the order in which the search lists its results. */
export const tabbedResources: readonly Resource<AnyItem>[] = [
  servers,
  networks,
  firewalls,
  gateways,
  loadBalancers,
  publicIps,
  domains,
  certificates,
];

/** Resources that the search finds. */
export const searchedResources: readonly Resource<AnyItem>[] = [...tabbedResources, sshKeys];
