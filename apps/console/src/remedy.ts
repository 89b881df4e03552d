import type { Problem } from "./api.ts";
import type { View } from "./layout/view.ts";
import { resourceAddress } from "./resource-address.ts";
import { may } from "./session.ts";

/** The page where the cause of a refusal can be fixed. */
export type Remedy = { readonly href: string; readonly text: string };

type Precondition = Pick<NonNullable<Problem["precondition"]>, "code" | "resource" | "quota">;
type Asked = Pick<View, "messages" | "session" | "path">;

/** Codes of problems that only operators can fix, by the region that they concern. */
const ofRegions: ReadonlySet<string> = new Set([
  "region_unavailable",
  "capacity_unavailable",
  "vmid_exhausted",
  "vlan_exhausted",
]);

/** The page of this console where a precondition can be fulfilled, if this session may open it. */
export function remedyOf(precondition: Precondition | undefined, view: Asked): Remedy | null {
  if (precondition === undefined) return null;
  const { code, resource, quota } = precondition;
  const { session } = view;
  const text = view.messages.remedies;
  const isOperator = session?.operator === true;
  if (quota !== undefined)
    return session !== null && may(session, "quota:read") ? { href: "/quotas", text: text.quotas } : null;
  if (ofRegions.has(code))
    return isOperator && resource !== null
      ? { href: `/operator/regions/${encodeURIComponent(resource)}`, text: text.region }
      : null;
  if (code === "no_public_ip_available") return isOperator ? { href: "/ip-pools", text: text.pools } : null;
  if (code === "subnet_exhausted" || code === "network_full")
    return { href: "/networks", text: text.networks };
  if (code === "proof_required") return { href: "/account/proof", text: text.proof };
  if (code === "last_owner") return { href: "/members", text: text.members };
  const address = resource === null ? null : resourceAddress(resource);
  if (address === null) return null;
  if (code === "protected") return { href: `${address}/settings#danger`, text: text.protection };
  // No link to the page that the person is on.
  const isHere =
    view.path === address || view.path.startsWith(`${address}/`) || view.path.startsWith(`${address}?`);
  return isHere ? null : { href: address, text: text.resource };
}
