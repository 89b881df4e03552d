import { isIP } from "node:net";
import { getConnInfo } from "@hono/node-server/conninfo";
import { signedVisitor, visitorHeader } from "@kule/contract/visitor";
import type { Context } from "hono";
import type { ConsoleSettings } from "./settings.ts";

/** The visitor's address and browser: for the API's limits, its audit trail, and the person's list of sessions. */
export function forwarded(
  context: Context,
  settings: Pick<ConsoleSettings, "visitorKey" | "trustedProxies">,
): Record<string, string> {
  const device = { "user-agent": context.req.header("user-agent") ?? "" };
  const address = addressOf(context, settings.trustedProxies);
  if (address === null) return device;
  const { visitorKey: key } = settings;
  return {
    ...device,
    "x-forwarded-for": address,
    ...(key === null ? {} : { [visitorHeader]: signedVisitor(key, address) }),
  };
}

/** The address that the proxies before this console report; null without a socket (in-process requests of tests). */
function addressOf(context: Context, trustedProxies: number): string | null {
  const hops = (context.req.header("x-forwarded-for") ?? "").split(",").map((hop) => hop.trim());
  const claimed = trustedProxies === 0 ? undefined : hops.at(-trustedProxies);
  if (claimed !== undefined && isIP(claimed) !== 0) return claimed;
  try {
    return getConnInfo(context).remote.address ?? null;
  } catch {
    return null;
  }
}
