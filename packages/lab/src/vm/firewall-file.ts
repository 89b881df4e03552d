import { createHash } from "node:crypto";
import { failure } from "../api-error.ts";
import { type Call, required, text } from "../call.ts";
import type { FirewallDocument } from "../documents.ts";
import { requireQuorum } from "../region.ts";

const EMPTY: FirewallDocument = { options: {}, rules: [], ipsets: {} };
const CONFLICT = "detected modified configuration - file changed by other user? Try again.";

/** A VM's firewall file; empty when it has none. */
export const firewallOf = (call: Call): FirewallDocument =>
  call.region.store.get("firewall", required(call, "vmid")) ?? EMPTY;

/** Digest of options, rules or one ipset: what a writer must have read. */
export const partDigest = (part: unknown): string =>
  createHash("sha1").update(JSON.stringify(part)).digest("hex");

/** Throws the conflict text when the caller read something else. */
export function requirePartDigest(call: Call, part: unknown): void {
  const digest = text(call, "digest");
  if (digest !== undefined && digest !== partDigest(part)) throw failure(CONFLICT);
}

/** Journals and stores the file. */
export function saveFirewall(
  call: Call,
  op: string,
  next: FirewallDocument,
  detail: Record<string, unknown> = {},
): null {
  requireQuorum(call.region);
  const vmid = required(call, "vmid");
  call.region.store.commit({ op, node: call.node, vmid: Number(vmid), user: call.authUser, detail }, [
    ["firewall", vmid, next],
  ]);
  return null;
}

/** Flags as numbers, as the API shows them. */
export const typedOptions = (values: Readonly<Record<string, string>>): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      /^(enable|macfilter|ipfilter|dhcp|ndp|radv|pos)$/.test(key) ? Number(value) : value,
    ]),
  );
