import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { conflict } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { setVlanPool, setVmidPool } from "./pools.ts";
import { findRegion, insertRegion, replaceRestriction } from "./store.ts";
import { viewRegion } from "./view.ts";

export async function createRegion({ body }: ApiRequest<"createRegion">, tx: Tx): Promise<Outcome> {
  await insertRegion(tx, {
    slug: body.slug,
    name: body.name,
    country: body.country ?? null,
    restricted: body.restricted_to !== undefined && body.restricted_to !== null,
    vmid_first: body.vmid_range.first,
    vmid_last: body.vmid_range.last,
    vlan_first: body.vlan_range.first,
    vlan_last: body.vlan_range.last,
  }).catch((error: unknown) => {
    if (violatedConstraint(error) !== "region_pkey") throw error;
    throw conflict("name_taken", "region_slug_free", `a region ${body.slug} already exists`, {
      resource: body.slug,
      fix: "take another slug",
    });
  });
  await setVmidPool(tx, body.slug, body.vmid_range);
  await setVlanPool(tx, body.slug, body.vlan_range);
  await replaceRestriction(tx, body.slug, body.restricted_to ?? []);
  const region = await findRegion(tx, body.slug);
  if (region === null) throw new Error("a region that was just registered could not be found");
  const headers = { Location: `/api/v1/regions/${body.slug}` };
  return { reply: reply(201, viewRegion(region), headers), resource: body.slug };
}
