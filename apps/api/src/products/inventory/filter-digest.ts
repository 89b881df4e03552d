import { createHash } from "node:crypto";
import type { PayloadOf } from "@kule/contract/schemas";
import { linesOfFilter } from "@kule/rules/firewalls/rule-line";

export type PayloadFilter = PayloadOf<"FirewallApply">["filter"];

/** How a server's row says that it has no rules; payloads use another value. */
export const noFilter = "";
export const noFilterInPayload = "none";
/** For a VM whose rules a job has left half changed: equal to no wanted filter. */
export const unknownFilter = "unknown";

/** How a scan reports rules: how many, and the digest of their content. */
export type FilterDigest = { readonly rules: number; readonly digest: string };

export function digestOfFilter(filter: PayloadFilter, privateDevices: number): FilterDigest {
  const lines = linesOfFilter(filter, privateDevices);
  return { rules: lines.length, digest: createHash("sha256").update(lines.join("\n")).digest("hex") };
}

export const storedDigest = ({ rules, digest }: FilterDigest): string => `${rules} ${digest}`;

/** The rules that the server's VM should have; null when that is not known at present. */
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
