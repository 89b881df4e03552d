import type { Schemas } from "@kule/contract/schemas";
import type { AllocationRow, IpPoolDetails, IpPoolRangeRow } from "./store.ts";

export function viewIpPool(row: IpPoolDetails): Schemas["IpPool"] {
  return {
    id: row.id,
    region: row.region,
    name: row.name,
    description: row.description,
    version: row.version as Schemas["IpPool"]["version"],
    gateway: row.gateway,
    prefix_length: row.prefix_length,
    vlan: row.vlan,
    reverse_name: row.reverse_name,
    addresses: { ...row.addresses },
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function viewIpPoolRange(row: IpPoolRangeRow): Schemas["IpPoolRange"] {
  return {
    id: row.id,
    pool_id: row.pool_id,
    start: row.first_address,
    end: row.last_address,
    size: row.size,
    created_at: row.created_at.toISOString(),
  };
}

export function viewAllocation(row: AllocationRow): Schemas["IpPoolAllocation"] {
  return {
    address: row.address,
    organisation: row.organisation,
    state: row.state,
    public_ip_id: row.public_ip_id,
    free_after: row.free_after?.toISOString() ?? null,
  };
}
