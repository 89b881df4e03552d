import type { Refusal } from "./decision.ts";
import type { ConflictCode, PreconditionName } from "./preconditions.ts";
import { changeTheOwner, managedReason, type ServerOwner } from "./servers/owner.ts";

/*
 * The only place that creates the refusals of a 409: a constructor for each error code. Where a code has one
 * cause, its constructor has the text too, so that the same refusal reads the same in every operation.
 */

type Around = { readonly resource?: string | null; readonly fix?: string | null };

const refusing =
  <Code extends ConflictCode>(code: Code) =>
  (
    name: PreconditionName<Code>,
    message: string,
    { resource = null, fix = null }: Around = {},
  ): Refusal<Code> => ({ name, code, message, resource, fix });

export const alreadyAttached = refusing("already_attached");
export const alreadyEnrolled = refusing("already_enrolled");
export const alreadyInvited = refusing("already_invited");
export const alreadyMember = refusing("already_member");
export const capacityUnavailable = refusing("capacity_unavailable");
export const cidrOverlap = refusing("cidr_overlap");
export const consoleInUse = refusing("console_in_use");
export const diskShrinkForbidden = refusing("disk_shrink_forbidden");
export const domainNotProven = refusing("domain_not_proven");
export const domainTaken = refusing("domain_taken");
export const dsAtParent = refusing("ds_at_parent");
export const duplicateKey = refusing("duplicate_key");
export const guestAgentUnavailable = refusing("guest_agent_unavailable");
export const idempotencyInProgress = refusing("idempotency_in_progress");
export const inUse = refusing("in_use");
export const invalidState = refusing("invalid_state");
export const lastOwner = refusing("last_owner");
export const lastSignInMethod = refusing("last_way_in");
export const locked = refusing("locked");
export const managed = refusing("managed");
export const nameTaken = refusing("name_taken");
export const networkFull = refusing("network_full");
export const noPublicIpAvailable = refusing("no_public_ip_available");
export const notAttached = refusing("not_attached");
export const notConfigured = refusing("not_configured");
export const notEnrolled = refusing("not_enrolled");
export const organisationSuspended = refusing("organisation_suspended");
export const portInUse = refusing("port_in_use");
export const proofRequired = refusing("proof_required");
/** A 409 `protected`; that word cannot be a name. */
export const resourceProtected = refusing("protected");
export const quotaExceeded = refusing("quota_exceeded");
export const rangeOverlap = refusing("range_overlap");
export const regionMismatch = refusing("region_mismatch");
export const regionUnavailable = refusing("region_unavailable");
export const resourceDeleting = refusing("resource_deleting");
export const signInRefused = refusing("sign_in_refused");
export const staleLease = refusing("stale_lease");
export const subnetNoEgress = refusing("subnet_no_egress");
export const tierForbidsEgress = refusing("tier_forbids_egress");
export const vmNotImportable = refusing("vm_not_importable");

/** Only its owner changes a managed server. */
export const serverManaged = (owner: ServerOwner): Refusal<"managed"> =>
  managed("server_not_managed", managedReason(owner), {
    resource: owner.id,
    fix: changeTheOwner(owner),
  });

export const vlanExhausted = (region: string): Refusal<"vlan_exhausted"> =>
  refusing("vlan_exhausted")("region_has_free_vlan", `Region ${region} has no VLAN left`, {
    resource: region,
    fix: "An operator must widen the region's vlan_range",
  });

export const vmidExhausted = (region: string): Refusal<"vmid_exhausted"> =>
  refusing("vmid_exhausted")("region_has_free_vmid", `Region ${region} has no VM number left`, {
    resource: region,
    fix: "An operator must widen the region's vmid_range",
  });

export const subnetExhausted = (subnet: {
  readonly id: string;
  readonly networkId: string;
}): Refusal<"subnet_exhausted"> =>
  refusing("subnet_exhausted")("subnet_has_free_address", "The subnet has no free address", {
    resource: subnet.id,
    fix: `POST /networks/${subnet.networkId}/subnets to make another subnet`,
  });

/** @param holder what has the address, or the subnet when nothing that can be named has */
export const addressInUse = (address: string, holder: string): Refusal<"address_in_use"> =>
  refusing("address_in_use")("address_free", `The address ${address} is not free`, {
    resource: holder,
    fix: "Choose another address, or name none to get the lowest free one",
  });

export const regionInMaintenance = (region: string): Refusal<"region_unavailable"> =>
  regionUnavailable("region_open", `Region ${region} is in maintenance`, {
    resource: region,
    fix: "Try again when the maintenance is over, or in another region",
  });

/** After a restore of the control plane's database: what is in use there is not known yet. */
export const regionNotScanned = (region: string): Refusal<"region_unavailable"> =>
  regionUnavailable(
    "region_scanned",
    `Region ${region} was not scanned since the control plane was restored from a backup, so it is not known what is free there`,
    {
      resource: region,
      fix: "Try again in a minute; GET /operator/restore answers what a region waits for",
    },
  );

/** The same for the public addresses that the region's edge may have. */
export const regionEdgeNotKnown = (region: string): Refusal<"region_unavailable"> =>
  regionUnavailable(
    "region_edge_known",
    `The edge of region ${region} was not brought up to date since the control plane was restored from a backup, so it may use public addresses that are free by the records`,
    {
      resource: region,
      fix: "Try again in a few minutes; GET /operator/restore answers what a region waits for",
    },
  );

/** @param holder the server that has the name; null when it was taken at this moment */
export const serverNameTaken = (name: string, region: string, holder: string | null): Refusal<"name_taken"> =>
  nameTaken("server_name_free", `A server named ${name} exists in region ${region}`, {
    resource: holder,
    fix: "Choose another name; the name of a removed server is free once its removal is over",
  });
