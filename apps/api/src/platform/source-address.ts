import { isIP } from "node:net";
import { visitorHeader, visitorOf } from "@kule/contract/visitor";
import type { Settings } from "./settings.ts";

/**
 * The address that a request came from, by our consoles and trusted proxies.
 *
 * @param header its headers by name
 * @param direct the other end of its connection; null in process
 */
export function sourceAddressOf(
  { consoleKeys, trustedProxies }: Pick<Settings, "consoleKeys" | "trustedProxies">,
  header: (name: string) => string | undefined,
  direct: string | null,
): string | null {
  const visitor = header(visitorHeader);
  const said = visitor === undefined ? null : visitorOf(consoleKeys, visitor);
  if (said !== null) return said;
  if (trustedProxies === 0) return direct;
  const hops = (header("X-Forwarded-For") ?? "").split(",").map((hop) => hop.trim());
  const claimed = hops.at(-trustedProxies) ?? "";
  return isIP(claimed) === 0 ? direct : claimed;
}
