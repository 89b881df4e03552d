import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { takeQuota } from "../quotas/index.ts";
import { chooseRegion, listVisibleRegions } from "../regions/index.ts";
import { answered } from "./answer.ts";
import { ruleErrors } from "./check-rules.ts";
import { firewallNameTaken, tooManyFirewalls } from "./conflicts.ts";
import { replaceRules, storedRule, withIds } from "./rule-store.ts";

export async function checkCreateFirewall(
  request: ApiRequest<"createFirewall">,
  body: Partial<RequestBody<"createFirewall">>,
): Promise<FieldError[]> {
  const { db, organisationId } = request;
  const chosen = chooseRegion(await listVisibleRegions(db, organisationId), body.region);
  if ("error" in chosen) return [chosen.error];
  const rules = (body.rules ?? []).map((rule, index) => ({ at: `/rules/${index}`, rule }));
  return ruleErrors({ db, organisationId, region: chosen.region.slug }, rules);
}

const maxFirewalls = 100;

/** Under the organisation's lock, so that the last place is used once. */
async function requireCapacity(tx: Tx, organisationId: string, region: string): Promise<void> {
  await tx
    .selectFrom("organisation")
    .select("id")
    .where("id", "=", organisationId)
    .forNoKeyUpdate()
    .execute();
  const { count } = await tx
    .selectFrom("firewall")
    .select((is) => is.fn.countAll<string>().as("count"))
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .executeTakeFirstOrThrow();
  if (Number(count) >= maxFirewalls) throw tooManyFirewalls(region, maxFirewalls);
}

/** It filters nothing before it is attached. */
export async function createFirewall(request: ApiRequest<"createFirewall">, tx: Tx): Promise<Outcome> {
  const { body, organisationId } = request;
  const chosen = chooseRegion(await listVisibleRegions(tx, organisationId), body.region);
  if ("error" in chosen) throw new Invalid([chosen.error]);
  const region = chosen.region.slug;
  const rules = body.rules ?? [];
  await takeQuota(tx, organisationId, { firewalls: 1, firewall_rules: rules.length });
  await requireCapacity(tx, organisationId, region);
  const row = await tx
    .insertInto("firewall")
    .values({
      id: newId("fw"),
      organisation_id: organisationId,
      region,
      name: body.name,
      description: body.description ?? "",
      labels: JSON.stringify(body.labels ?? {}),
    })
    .onConflict((on) => on.constraint("firewall_name").doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw firewallNameTaken(body.name, region);
  await replaceRules(tx, row, withIds(rules.map(storedRule), []));
  return answered(request, tx, row.id, [], 201);
}
