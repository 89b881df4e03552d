import type { FieldError } from "@kule/contract/field-errors";
import { IntentIndex } from "@kule/rules/networks/intent-index";
import type { Database, Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import { tooManyRulesOfServer } from "./conflicts.ts";
import { filterOf, storedFilterId } from "./filter.ts";
import { loadIntent } from "./intent.ts";
import { maxRulesOfServer, wantFilter } from "./refresh.ts";
import { changeFirewallRow } from "./store.ts";

/**
 * What is wrong with the firewalls that a create names. Another organisation's firewall reads like an absent
 * one.
 *
 * @param region null where it is not known yet
 */
export async function firewallsOfNewServerErrors(
  db: Database | Tx,
  organisationId: string,
  ids: readonly string[],
  region: string | null,
): Promise<FieldError[]> {
  const named = ids.filter((id) => isId("fw", id));
  const rows =
    named.length === 0
      ? []
      : await db
          .selectFrom("firewall")
          .select(["id", "region"])
          .where("organisation_id", "=", organisationId)
          .where("id", "in", named)
          .execute();
  return ids.flatMap((id, index) => {
    const row = rows.find((each) => each.id === id);
    if (row === undefined) return [fieldError(`/firewall_ids/${index}`, "not_found", "no such firewall")];
    return region === null || row.region === region
      ? []
      : [fieldError(`/firewall_ids/${index}`, "conflicts_with", `is not in region ${region}`)];
  });
}

/**
 * Locks the firewalls, in the same order for all creates: none of them is deleted or changed before it is
 * attached to the server. A rule of another firewall may still name one of them, so this is not the lock that
 * a delete takes.
 *
 * @throws Invalid when one was deleted since it was read
 */
export async function lockForNewServer(
  tx: Tx,
  organisationId: string,
  ids: readonly string[],
  region: string,
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .selectFrom("firewall")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("id", "in", [...ids])
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
  const gone = await firewallsOfNewServerErrors(tx, organisationId, ids, region);
  if (gone.length > 0) throw new Invalid(gone);
}

/**
 * Attaches the firewalls to a server that is being created, in the transaction that writes it: the job that
 * creates the server gets the rules with everything else, and writes them before the first start.
 *
 * @throws Conflict `quota_exceeded`
 */
export async function attachToNewServer(
  tx: Tx,
  server: { readonly id: string; readonly organisation_id: string; readonly region: string },
  firewallIds: readonly string[],
): Promise<void> {
  if (firewallIds.length === 0) return;
  const { id: serverId, organisation_id: organisationId, region } = server;
  for (const id of firewallIds) {
    await tx
      .insertInto("firewall_attachment")
      .values({
        id: newId("fwa"),
        organisation_id: organisationId,
        region,
        firewall_id: id,
        server_id: serverId,
      })
      .execute();
    await changeFirewallRow(tx, { id, organisation_id: organisationId });
  }
  const filter = filterOf(new IntentIndex(await loadIntent(tx, organisationId, region)), serverId);
  if (filter.rules.length > maxRulesOfServer) throw tooManyRulesOfServer(null, maxRulesOfServer);
  // A VM that does not exist has no rules: the server's create job is the first to apply any.
  await wantFilter(tx, organisationId, serverId, storedFilterId(filter.id), false);
}
