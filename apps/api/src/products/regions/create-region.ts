import type { RequestBody } from "@kule/contract/schemas";
import { nameTaken } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { setVlanPool, setVmidPool } from "./pools.ts";
import { findRegion, insertRegion, type RegionDetails, replaceRestriction } from "./store.ts";
import { viewRegion } from "./view.ts";

export async function createRegion({ body }: ApiRequest<"createRegion">, tx: Tx): Promise<Outcome> {
  const region = await addRegion(tx, body);
  const headers = { Location: `/api/v1/regions/${region.slug}` };
  return { reply: reply(201, viewRegion(region), headers), resource: region.slug };
}

/**
 * Registers a region with a row for each VM number and VLAN that it may allocate.
 *
 * @throws Conflict `name_taken`
 */
export async function addRegion(tx: Tx, region: RequestBody<"createRegion">): Promise<RegionDetails> {
  const { slug, name, country, restricted_to, vmid_range, vlan_range } = region;
  await insertRegion(tx, {
    slug,
    name,
    country: country ?? null,
    mode: region.mode ?? "agent",
    restricted: restricted_to !== undefined && restricted_to !== null,
    vmid_first: vmid_range.first,
    vmid_last: vmid_range.last,
    vlan_first: vlan_range.first,
    vlan_last: vlan_range.last,
  }).catch((error: unknown) => {
    if (violatedConstraint(error) !== "region_pkey") throw error;
    throw new Conflict(
      nameTaken("region_slug_free", `a region ${slug} already exists`, {
        resource: slug,
        fix: "take another slug",
      }),
    );
  });
  await setVmidPool(tx, slug, vmid_range);
  await setVlanPool(tx, slug, vlan_range);
  await replaceRestriction(tx, slug, restricted_to ?? []);
  const details = await findRegion(tx, slug);
  if (details === null) throw new Error("a region that was just registered could not be found");
  return details;
}
