import { inUse } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { type FirewallDetails, lockFirewall } from "./store.ts";

export async function deleteFirewall(
  request: ApiRequest<"deleteFirewall">,
  tx: Tx,
  found: FirewallDetails,
): Promise<Outcome> {
  const { organisationId } = request;
  const firewall = await lockFirewall(tx, organisationId, found.id);
  if (firewall === null) throw new NotFound();
  request.checkGeneration(firewall);
  const [attachment] = firewall.attachments;
  if (attachment !== undefined)
    throw new Conflict(
      inUse(
        "firewall_attached_to_nothing",
        `the firewall is attached to ${attachment.server_id ?? attachment.subnet_id ?? attachment.label_selector}`,
        {
          resource: attachment.id,
          fix: `DELETE /firewalls/${firewall.id}/attachments/${attachment.id}`,
        },
      ),
    );
  const naming = await tx
    .selectFrom("firewall_peer")
    .innerJoin("firewall_rule", (join) =>
      join
        .onRef("firewall_rule.organisation_id", "=", "firewall_peer.organisation_id")
        .onRef("firewall_rule.id", "=", "firewall_peer.rule_id"),
    )
    .select("firewall_rule.firewall_id")
    .where("firewall_peer.organisation_id", "=", organisationId)
    .where("firewall_peer.peer_firewall_id", "=", firewall.id)
    .where("firewall_rule.firewall_id", "<>", firewall.id)
    .executeTakeFirst();
  if (naming !== undefined)
    throw new Conflict(
      inUse("firewall_named_by_none", "a rule of another firewall names it", {
        resource: naming.firewall_id,
        fix: `PUT /firewalls/${naming.firewall_id}/rules without it`,
      }),
    );
  await tx
    .deleteFrom("firewall_rule")
    .where("organisation_id", "=", organisationId)
    .where("firewall_id", "=", firewall.id)
    .execute();
  await tx
    .deleteFrom("firewall")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", firewall.id)
    .execute();
  return { reply: noContent(), resource: firewall.id, details: { name: firewall.name } };
}
