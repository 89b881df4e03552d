/** A running guest that was not given an address, and configures it when it boots. */
export type WaitingGuest = {
  readonly address: string;
  /** Since when its VM has what it is to boot with, in milliseconds since the epoch. */
  readonly sinceMs: number;
};

/** The same guest in a scan. */
export type SeenGuest = {
  readonly power: "on" | "off";
  /** When its VM was switched on, likewise; null when that is not known. */
  readonly bootAtMs: number | null;
  /** The addresses that its own agent reports; none when no agent answers. */
  readonly addresses: readonly string[];
};

/** Uptimes are in whole seconds, and a scan takes its time. */
const roundingMs = 2_000;

/**
 * Whether the guest no longer has to be rebooted for the address: it shows it, or was powered on since, or is
 * off and reads its drive when it starts. A guest without an agent that restarts itself continues in the same
 * process: that cannot be observed, and is not guessed.
 */
export function needsNoReboot({ address, sinceMs }: WaitingGuest, guest: SeenGuest): boolean {
  if (guest.power === "off") return true;
  if (guest.addresses.some((each) => each.toLowerCase() === address.toLowerCase())) return true;
  return guest.bootAtMs !== null && guest.bootAtMs > sinceMs + roundingMs;
}
