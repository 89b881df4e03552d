import type { IncomingMessage } from "node:http";
import { networkOf } from "../../platform/address-network.ts";
import type { Deps } from "../../platform/deps.ts";
import { sourceAddressOf } from "../../platform/source-address.ts";
import { UpgradeRefused } from "./refuse-upgrade.ts";

/** One address may be that of a whole region, whose agents open a console for each of its users. */
const agentFactor = 10;

/**
 * Counts websocket requests by address: an invalid ticket or token costs a database statement, and a valid
 * one was counted when it was requested.
 *
 * @throws UpgradeRefused when the address' bucket is empty
 */
export function countUpgrade(
  { settings, limiter }: Pick<Deps, "settings" | "limiter">,
  request: IncomingMessage,
  side: "browser" | "agent",
): void {
  const header = (name: string) => {
    const value = request.headers[name.toLowerCase()];
    return typeof value === "string" ? value : undefined;
  };
  const address = sourceAddressOf(settings, header, request.socket.remoteAddress ?? null);
  const factor = side === "agent" ? agentFactor : 1;
  const allowance = limiter.take(`upgrades ${side} ${address === null ? "local" : networkOf(address)}`, {
    perHour: settings.rateLimitPerHour * factor,
    burst: settings.rateLimitBurst * factor,
  });
  if (!allowance.allowed)
    throw new UpgradeRefused(429, "rate_limited", "too many requests", allowance.retryAfterSeconds);
}
