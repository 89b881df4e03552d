import { done, type SceneApi } from "./scene-api.ts";

/** The person is an admin of a new organisation that has nothing, and of no other one. */
export async function moveToEmptyOrganisation(api: SceneApi, userId: string): Promise<void> {
  const { id } = await done(api.operator.post("/organisations", { slug: "empty", name: "Empty Hosting" }));
  await api.sql("update member set organisation_id = $1 where user_id = $2", [id, userId]);
}

/** As before the first region: also without its pools, and without what the region's rows refer to. */
export async function deleteRegions(api: SceneApi): Promise<void> {
  await api.sql(`
    set session_replication_role = replica;
    delete from region_inventory;
    delete from region_vmid;
    delete from region;
    delete from public_address;
    delete from ip_pool_range;
    delete from ip_pool;
    set session_replication_role = origin`);
}
