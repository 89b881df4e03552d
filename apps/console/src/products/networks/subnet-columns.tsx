import type { Schemas } from "@kule/contract/schemas";
import type { Columns } from "../../layout/list-table.tsx";
import { Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { networkTones } from "./status.ts";

type Subnet = Schemas["Subnet"];

/** The columns of subnets, on their network's own page and in the list of all networks. */
export function subnetColumns(view: View): Columns<"subnets", Subnet> & Columns<"networks", Subnet> {
  const { messages, format } = view;
  const text = messages.networks;
  return {
    tier: { label: text.tier, cell: ({ tier }) => <span class="tag">{text.tiers[tier]}</span> },
    cidr: { label: text.cidr, class: "mono", cell: ({ cidr }) => cidr },
    gateway: { label: text.gateway, class: "mono", cell: ({ gateway_ip }) => gateway_ip },
    dns: {
      label: messages.network.dns,
      cell: ({ dns_servers }) =>
        dns_servers.length === 0 ? (
          messages.network.noDns
        ) : (
          <span class="mono">{dns_servers.join(", ")}</span>
        ),
    },
    egress: { label: text.egressLabel, cell: ({ egress }) => text.egress[egress] },
    usage: {
      label: text.usage,
      class: "figures number",
      cell: ({ usage }) =>
        text.usageOf(format.number(usage.addresses_used), format.number(usage.addresses_total)),
    },
    status: {
      label: messages.common.status,
      cell: ({ status }) => <Status tone={networkTones[status]}>{text.status[status]}</Status>,
    },
    created: {
      label: messages.common.created,
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}
