import { createHmac, timingSafeEqual } from "node:crypto";
import { ApiError } from "../api-error.ts";
import type { Region } from "../region.ts";
import { systemSecrets } from "../runtime.ts";

/** What a ticket opens, and for which user. */
export interface TicketScope {
  /** "user@realm!token" */
  readonly authUser: string;
  readonly vmid: number;
  /** Part of the signature since 2026-04. */
  readonly port: number;
}

const LIFETIME_SECONDS = 40;

/** As /etc/pve/priv/authkey: one for the cluster, and here gone with the lab. */
const keys = new WeakMap<Region, Buffer>();

function keyOf(region: Region): Buffer {
  const key = keys.get(region) ?? systemSecrets.bytes(32);
  keys.set(region, key);
  return key;
}

/** The port became part of what is signed, and the ticket got a random head, in the point releases of 2026-04. */
export const hasPasswordInTicket = (region: Region): boolean =>
  region.version === "8.4" || region.version === "9.2";

function signature(region: Region, head: string, scope: TicketScope): string {
  const port = hasPasswordInTicket(region) ? `:${scope.port}` : "";
  return createHmac("sha256", keyOf(region))
    .update(`${head}:${scope.authUser}:/vms/${scope.vmid}${port}`)
    .digest("base64");
}

/** "PVEVNC:HEXTIME::SIGNATURE", with eight random characters before it where the release has them. */
export function makeVncTicket(region: Region, scope: TicketScope, password: string | null): string {
  const seconds = Math.floor(region.runtime.nowMs() / 1000);
  const head = `PVEVNC:${seconds.toString(16).toUpperCase().padStart(8, "0")}`;
  const ticket = `${head}::${signature(region, head, scope)}`;
  return password === null ? ticket : `${password}:${ticket}`;
}

/** Throws 401 unless the ticket was made for this scope within the last 40 seconds. */
export function verifyVncTicket(region: Region, ticket: string, scope: TicketScope): void {
  const parts = /^(?:[^:]{8}:)?(PVEVNC:([0-9A-F]{8}))::(.+)$/.exec(ticket);
  const [, head = "", time = "", given = ""] = parts ?? [];
  const age = region.runtime.nowMs() / 1000 - Number.parseInt(time, 16);
  const expected = Buffer.from(signature(region, head, scope));
  const presented = Buffer.from(given);
  const valid =
    parts !== null &&
    age > -300 &&
    age < LIFETIME_SECONDS &&
    expected.length === presented.length &&
    timingSafeEqual(expected, presented);
  if (!valid) throw new ApiError(401, "permission denied - invalid PVEVNC ticket\n");
}
