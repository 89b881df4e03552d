import { plausibleUptime } from "@kule/rules/inventory/plausible";
import { guestAddresses, guestHostname, guestOs } from "@kule/rules/inventory/seen-words";
import type { Guest } from "./guests.ts";

/** What is known of the system inside a VM, as it is stored. */
export type StoredGuest = {
  readonly agent: boolean;
  readonly cloud_init: "unknown" | "running" | "done" | "error";
  readonly os: string | null;
  readonly hostname: string | null;
  readonly addresses: readonly string[];
  readonly boot_at: string | null;
  /**
   * When the guest agent was last queried, while it ran. Every job of the server removes it: after a job the
   * answer may differ.
   */
  readonly agent_at?: string;
};

/** Two observations of one boot differ by rounding. */
const sameBootMs = 5_000;

/** A guest that does not answer now is still the one that answered before, unless it was powered on again. */
export function guestOf(before: StoredGuest | null, { power, guest }: Guest, lookedAt: Date): StoredGuest {
  const uptime = power === "on" ? plausibleUptime(guest?.uptime_seconds ?? null) : null;
  const bootAt = uptime === null ? null : new Date(lookedAt.getTime() - uptime * 1000);
  const isSameBoot =
    before?.boot_at != null &&
    bootAt !== null &&
    Math.abs(bootAt.getTime() - Date.parse(before.boot_at)) < sameBootMs;
  const agentAt =
    power !== "on"
      ? undefined
      : guest?.agent === true || guest?.agent_asked === true
        ? lookedAt.toISOString()
        : isSameBoot
          ? before.agent_at
          : undefined;
  return {
    ...(agentAt === undefined ? {} : { agent_at: agentAt }),
    agent: guest?.agent ?? false,
    cloud_init:
      guest?.cloud_init ?? (isSameBoot || power !== "on" ? (before?.cloud_init ?? "unknown") : "unknown"),
    os: guestOs(guest?.os ?? null) ?? before?.os ?? null,
    hostname: guestHostname(guest?.hostname ?? null) ?? before?.hostname ?? null,
    addresses: guestAddresses(guest?.addresses ?? []),
    boot_at: isSameBoot ? before.boot_at : (bootAt?.toISOString() ?? null),
  };
}
