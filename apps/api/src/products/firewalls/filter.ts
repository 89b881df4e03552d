import { createHash } from "node:crypto";
import type { PayloadOf } from "@kule/contract/schemas";
import { type CompiledRule, compileFilter } from "@kule/rules/firewalls/compile";
import { formatPorts } from "@kule/rules/firewalls/ports";
import { linesOfFilter } from "@kule/rules/firewalls/rule-line";
import { IntentIndex } from "@kule/rules/networks/intent-index";
import { formatIpBlock } from "@kule/rules/public-ips/addresses";
import type { Tx } from "../../platform/database.ts";
import { loadIntent } from "./intent.ts";
import { hasAttachments } from "./store.ts";

export type PayloadFilter = PayloadOf<"FirewallApply">["filter"];

/** How a server's row says that it has no rules; payloads have another word for it. */
export const noFilter = "";
const noFilterInPayload = "none";
/** Of a VM whose rules a job has left half changed: equal to no filter that is wanted. */
export const unknownFilter = "unknown";

/** What the server's filter is to be now; its id stands for all of it. */
export function filterOf(index: IntentIndex, serverId: string): PayloadFilter {
  const { isFiltered, rules } = compileFilter(index.server(serverId), index.around);
  if (!isFiltered) return { id: noFilterInPayload, is_filtered: false, rules: [] };
  const payload = rules.map(payloadRule);
  const digest = createHash("sha256").update(JSON.stringify(payload)).digest("hex");
  return { id: `flt_${digest.slice(0, 32)}`, is_filtered: true, rules: payload };
}

/** As a look at the region tells rules: how many, and what they say. */
export type FilterDigest = { readonly rules: number; readonly digest: string };

export function digestOfFilter(filter: PayloadFilter, privateDevices: number): FilterDigest {
  const lines = linesOfFilter(filter, privateDevices);
  return { rules: lines.length, digest: createHash("sha256").update(lines.join("\n")).digest("hex") };
}

export const storedDigest = ({ rules, digest }: FilterDigest): string => `${rules} ${digest}`;

/** What the server's VM is to have of rules; null when that is not known for now. */
export function filterToFind(server: {
  readonly filter_wanted: string;
  readonly filter_applied: string;
  readonly filter_digest: string | null;
}): FilterDigest | null {
  if (server.filter_wanted !== server.filter_applied) return null;
  if (server.filter_applied === noFilter)
    return digestOfFilter({ id: noFilter, is_filtered: false, rules: [] }, 0);
  const [rules, digest] = server.filter_digest?.split(" ") ?? [];
  return digest === undefined ? null : { rules: Number(rules), digest };
}

/** The filter's id as a server's row has it; of one that an agent said nothing about it is none: it knows no filters. */
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

/** For a job that is about the filter alone: none is something to say, too. */
export async function renderWholeFilter(
  tx: Tx,
  server: { readonly id: string; readonly organisation_id: string; readonly region: string },
): Promise<PayloadFilter> {
  return (await renderFilter(tx, server)) ?? { id: noFilterInPayload, is_filtered: false, rules: [] };
}
