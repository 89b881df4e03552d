import type { Schemas } from "@kule/contract/schemas";
import { decideDeleteGateway, decideUpdateGateway } from "@kule/rules/gateways/lifecycle";
import {
  gatewayAction,
  gatewayStatus,
  portForwardStatus,
  subnetLinkStatus,
} from "@kule/rules/gateways/status";
import { ownFacts } from "./facts.ts";
import type { PortForwardRow } from "./forward-store.ts";
import type { GatewayDetails } from "./store.ts";

export function viewGateway(row: GatewayDetails): Schemas["Gateway"] {
  const facts = ownFacts(row);
  // Whatever has failed, a job that is open brings all of it.
  const hasFailed = row.status_code !== null && row.job_id === null;
  const changes = gatewayAction(decideUpdateGateway(facts));
  return {
    id: row.id,
    name: row.name,
    region: row.region,
    network_id: row.network_id,
    description: row.description,
    status: gatewayStatus({
      isDeleting: row.is_deleting,
      generation: row.generation,
      observedGeneration: row.observed_generation,
      hasFailed,
    }),
    status_reason:
      row.status_code === null || !hasFailed
        ? null
        : { code: row.status_code, message: row.status_message ?? "", job_id: row.status_job_id },
    public_ip: { id: row.public_ip_id, address: row.address },
    subnets: row.subnets.map(({ subnet_id, name, cidr, is_applied, is_leaving }) => ({
      subnet_id,
      name,
      cidr,
      status: subnetLinkStatus({ isApplied: is_applied, isLeaving: is_leaving }),
    })),
    port_forwards: row.forwards.length,
    labels: row.labels as Schemas["Labels"],
    actions: {
      attach_subnet: { ...changes },
      forward_port: { ...changes },
      delete: { ...gatewayAction(decideDeleteGateway(facts)) },
    },
    job_id: row.job_id,
    generation: row.generation,
    observed_generation: row.observed_generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function viewPortForward(row: PortForwardRow): Schemas["PortForward"] {
  return {
    id: row.id,
    gateway_id: row.gateway_id,
    protocol: row.protocol as Schemas["PortForward"]["protocol"],
    listen_port: row.listen_port,
    server_id: row.server_id,
    target_address: row.target_address,
    target_port: row.target_port,
    description: row.description,
    status: portForwardStatus({ isApplied: row.is_applied, isLeaving: row.left_generation !== null }),
    created_at: row.created_at.toISOString(),
  };
}
