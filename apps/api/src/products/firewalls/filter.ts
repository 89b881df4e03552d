import { createHash } from "node:crypto";
import { type CompiledRule, compileFilter } from "@kule/rules/firewalls/compile";
import { formatPorts } from "@kule/rules/firewalls/ports";
import { IntentIndex } from "@kule/rules/networks/intent-index";
import { formatIpBlock } from "@kule/rules/public-ips/addresses";
import type { Tx } from "../../platform/database.ts";
import { hasAttachments } from "../../platform/filter-refresh.ts";
import { noFilter, noFilterInPayload, type PayloadFilter } from "../inventory/index.ts";
import { loadIntent } from "./intent.ts";

/** The filter that the server should have now; its id identifies all of its content. */
export function filterOf(index: IntentIndex, serverId: string): PayloadFilter {
  const { isFiltered, rules } = compileFilter(index.server(serverId), index.around);
  if (!isFiltered) return { id: noFilterInPayload, is_filtered: false, rules: [] };
  const payload = rules.map(payloadRule);
  const digest = createHash("sha256").update(JSON.stringify(payload)).digest("hex");
  return { id: `flt_${digest.slice(0, 32)}`, is_filtered: true, rules: payload };
}

/**
 * The filter's id as a server's row stores it; empty for an agent that reports no filter: it does not support
 * filters.
 */
export const storedFilterId = (id: string | null): string =>
  id === null || id === noFilterInPayload ? noFilter : id;

function payloadRule({ ruleId, direction, action, protocol, ports, side, blocks }: CompiledRule) {
  return {
    id: ruleId,
    direction,
    action,
    protocol,
    ports: ports.map(formatPorts),
    side,
    addresses: blocks === null ? null : blocks.map(formatIpBlock),
  };
}

/** The filter of a server's payload; undefined where no firewall is attached to anything. */
export async function renderFilter(
  tx: Tx,
  server: { readonly id: string; readonly organisation_id: string; readonly region: string },
): Promise<PayloadFilter | undefined> {
  if (!(await hasAttachments(tx, server.organisation_id, server.region))) return undefined;
  const index = new IntentIndex(await loadIntent(tx, server.organisation_id, server.region));
  const filter = filterOf(index, server.id);
  return filter.is_filtered ? filter : undefined;
}
