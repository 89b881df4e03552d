import type { FieldError } from "@kule/contract/field-errors";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError } from "../../platform/errors.ts";
import { unknownOrganisations } from "../organisations/index.ts";
import { maxVmids, type NumberRange } from "./pools.ts";

type RegionFields = {
  readonly vmid_range?: NumberRange;
  readonly vlan_range?: NumberRange;
  readonly restricted_to?: readonly string[] | null;
};

/** What a region's registration or change has wrong beyond the contract. */
export async function checkRegion(request: ApiRequest, body: RegionFields): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const field of ["vmid_range", "vlan_range"] as const) {
    const range = body[field];
    if (range !== undefined && range.last < range.first)
      errors.push(fieldError(`/${field}/last`, "out_of_range", "must not be before first"));
  }
  const vmids = body.vmid_range;
  if (vmids !== undefined && vmids.last - vmids.first >= maxVmids)
    errors.push(fieldError("/vmid_range/last", "out_of_range", `a region has at most ${maxVmids} VMIDs`));
  const named = body.restricted_to ?? [];
  for (const id of await unknownOrganisations(request.db, named))
    errors.push(fieldError(`/restricted_to/${named.indexOf(id)}`, "not_found", "no such organisation"));
  return errors;
}
