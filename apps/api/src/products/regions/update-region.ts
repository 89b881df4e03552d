import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { refusePublicVlans, setVlanPool, setVmidPool } from "./pools.ts";
import {
  findRegion,
  lockRegion,
  type RegionChanges,
  type RegionDetails,
  replaceRestriction,
  updateRegionRow,
  wakeRegion,
} from "./store.ts";
import { viewRegion } from "./view.ts";

export async function updateRegion(
  request: ApiRequest<"updateRegion">,
  tx: Tx,
  { slug }: RegionDetails,
): Promise<Outcome> {
  const { body } = request;
  const region = await lockRegion(tx, slug);
  if (region === null) throw new NotFound();
  request.checkGeneration(region);

  const changes: RegionChanges = {};
  if (body.name !== undefined) changes.name = body.name;
  if (body.country !== undefined) changes.country = body.country;
  if (body.maintenance !== undefined) changes.maintenance = body.maintenance;
  if (body.restricted_to !== undefined) {
    changes.restricted = body.restricted_to !== null;
    await replaceRestriction(tx, slug, body.restricted_to ?? []);
  }
  if (body.vmid_range !== undefined) {
    await setVmidPool(tx, slug, body.vmid_range);
    changes.vmid_first = body.vmid_range.first;
    changes.vmid_last = body.vmid_range.last;
  }
  if (body.vlan_range !== undefined) {
    await refusePublicVlans(tx, slug, body.vlan_range);
    await setVlanPool(tx, slug, body.vlan_range);
    changes.vlan_first = body.vlan_range.first;
    changes.vlan_last = body.vlan_range.last;
  }
  const statusChanges = body.maintenance !== undefined && body.maintenance !== region.maintenance;
  await updateRegionRow(tx, slug, changes, statusChanges);
  if (body.maintenance === false) await wakeRegion(tx, slug);
  const updated = await findRegion(tx, slug);
  if (updated === null) throw new Error("a region that was just changed could not be found");
  return { reply: reply(200, viewRegion(updated)), resource: slug };
}
