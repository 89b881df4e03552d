import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { poolNameTaken } from "./conflicts.ts";
import { reverseNameErrors, storedReverseName, versionOf } from "./reverse-name.ts";
import { findIpPool, type IpPoolDetails, lockIpPool, updateIpPoolRow } from "./store.ts";
import { viewIpPool } from "./view.ts";

export function checkUpdateIpPool(
  _request: ApiRequest<"updateIpPool">,
  body: Partial<RequestBody<"updateIpPool">>,
  pool: IpPoolDetails,
): FieldError[] {
  return reverseNameErrors(body.reverse_name, versionOf(pool));
}

/**
 * Its name, its description, and the pattern of its reverse names, which a trigger brings to all of its public IPs; the
 * settings that guests were given stay.
 */
export async function updateIpPool(
  request: ApiRequest<"updateIpPool">,
  tx: Tx,
  { id }: IpPoolDetails,
): Promise<Outcome> {
  const { name, description, reverse_name: pattern } = request.body;
  const pool = await lockIpPool(tx, id);
  if (pool === null) throw new NotFound();
  request.checkGeneration(pool);
  await updateIpPoolRow(tx, id, {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(pattern === undefined ? {} : { reverse_name: storedReverseName(pattern, versionOf(pool)) }),
  }).catch((error: unknown) => {
    if (violatedConstraint(error) === "ip_pool_name") throw poolNameTaken(name ?? "", pool.region);
    throw error;
  });
  const updated = await findIpPool(tx, id);
  if (updated === null) throw new Error("a pool that was just changed could not be found");
  return { reply: reply(200, viewIpPool(updated)), resource: id };
}
