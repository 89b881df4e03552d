import { inUse } from "@kule/rules/refusals";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { UsedPlace } from "../networks/index.ts";

/** Why a subnet or a network cannot go: a firewall is attached to it, or a rule names it; null when neither. */
export async function usedByFirewall(
  tx: Tx,
  organisationId: string,
  what: UsedPlace,
): Promise<Conflict | null> {
  if ("subnet_id" in what) {
    const attachment = await tx
      .selectFrom("firewall_attachment")
      .select(["id", "firewall_id"])
      .where("organisation_id", "=", organisationId)
      .where("subnet_id", "=", what.subnet_id)
      .executeTakeFirst();
    if (attachment !== undefined)
      return new Conflict(
        inUse("subnet_without_firewall", "a firewall is attached to the subnet", {
          resource: attachment.firewall_id,
          fix: `DELETE /firewalls/${attachment.firewall_id}/attachments/${attachment.id}`,
        }),
      );
  }
  const [column, id] =
    "subnet_id" in what
      ? (["subnet_id", what.subnet_id] as const)
      : (["network_id", what.network_id] as const);
  const rule = await tx
    .selectFrom("firewall_peer")
    .innerJoin("firewall_rule", (join) =>
      join
        .onRef("firewall_rule.organisation_id", "=", "firewall_peer.organisation_id")
        .onRef("firewall_rule.id", "=", "firewall_peer.rule_id"),
    )
    .select(["firewall_rule.id", "firewall_rule.firewall_id"])
    .where("firewall_peer.organisation_id", "=", organisationId)
    .where(`firewall_peer.${column}`, "=", id)
    .executeTakeFirst();
  if (rule === undefined) return null;
  return new Conflict(
    inUse("named_by_no_rule", "a firewall's rule names it", {
      resource: rule.firewall_id,
      fix: `DELETE /firewalls/${rule.firewall_id}/rules/${rule.id}`,
    }),
  );
}
