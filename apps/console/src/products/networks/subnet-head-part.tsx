import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { networkTones } from "./status.ts";
import { subnets } from "./subnet-resource.ts";

/** The header of a subnet. */
export const headedSubnets: HeadedResource<Schemas["Subnet"]> = {
  resource: subnets,
  headOf: ({ messages: { networks: text } }, subnet) => ({
    status: <Status tone={networkTones[subnet.status]}>{text.status[subnet.status]}</Status>,
    lead: `${text.tier}: ${text.tiers[subnet.tier]}`,
    copied: [{ id: "subnet-cidr", label: text.cidr, text: subnet.cidr }],
    calls: [{ operation: "getSubnet", path: subnets.idsOf(subnet) }],
  }),
};
