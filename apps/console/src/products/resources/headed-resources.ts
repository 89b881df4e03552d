import type { AnyItem } from "../../resources/resource.ts";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { headedCertificates } from "../certificates/head-part.tsx";
import { headedDomains } from "../domains/head-part.tsx";
import { headedFirewalls } from "../firewalls/head-part.tsx";
import { headedGateways } from "../gateways/head-part.tsx";
import { headedLoadBalancers } from "../load-balancers/head-part.tsx";
import { headedNetworks } from "../networks/head-part.tsx";
import { headedPublicIps } from "../public-ips/head-part.tsx";
import { headedServers } from "../servers/head-part.tsx";

/** The resources whose jobs, usage or audit trail is a tab. */
export const headedResources: readonly HeadedResource<AnyItem>[] = [
  headedServers,
  headedNetworks,
  headedFirewalls,
  headedGateways,
  headedLoadBalancers,
  headedPublicIps,
  headedDomains,
  headedCertificates,
];
