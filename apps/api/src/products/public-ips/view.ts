import type { Schemas } from "@kule/contract/schemas";
import { ownedIpStatus, publicIpActions, publicIpStatus } from "@kule/rules/public-ips/lifecycle";
import { factsOf, type PublicIpDetails } from "./store.ts";

/** A public IP as the contract shows it. */
export function viewPublicIp(row: PublicIpDetails): Schemas["PublicIp"] {
  const facts = factsOf(row);
  const owner = facts.gateway ?? facts.loadBalancer;
  const status = owner === null ? publicIpStatus(facts) : ownedIpStatus(owner);
  const actions = publicIpActions(facts);
  return {
    id: row.id,
    address: row.address,
    version: row.version as Schemas["IpVersion"],
    prefix_length: row.prefix_length,
    gateway: row.gateway,
    region: row.region,
    status,
    status_reason:
      row.status_code === null
        ? null
        : { code: row.status_code, message: row.status_message ?? "", job_id: row.status_job_id },
    attached_to: attachedTo(row),
    requires_reboot: row.requires_reboot,
    ptr: row.ptr,
    ptr_status: ptrStatus(row),
    reverse_name: row.reverse_name,
    labels: row.labels as Schemas["Labels"],
    delete_with_server: row.delete_with_server,
    protection: { delete: row.protect_delete },
    actions: {
      attach: { ...actions.attach },
      detach: { ...actions.detach },
      delete: { ...actions.delete },
    },
    job_id:
      status === "attaching" || status === "detaching"
        ? (row.holder_job_id ?? row.gateway_job_id ?? row.balancer_job_id)
        : null,
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** A name that was taken away is pending until no name server has it. */
function ptrStatus({
  reverse_name: name,
  ptr_state: state,
}: PublicIpDetails): Schemas["PublicIp"]["ptr_status"] {
  if (name !== null) return (state ?? "pending") as Schemas["PublicIp"]["ptr_status"];
  return state === "pending" ? "pending" : "none";
}

function attachedTo(row: PublicIpDetails): Schemas["PublicIp"]["attached_to"] {
  if (row.gateway_id !== null) return { type: "gateway", id: row.gateway_id, name: row.gateway_name ?? "" };
  if (row.load_balancer_id !== null)
    return { type: "load_balancer", id: row.load_balancer_id, name: row.balancer_name ?? "" };
  return row.holder_id === null ? null : { type: "server", id: row.holder_id, name: row.holder_name ?? "" };
}
