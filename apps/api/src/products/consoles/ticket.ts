import { createHash, randomBytes } from "node:crypto";

/** 256 random bits: nothing to guess within 60 seconds, so a plain hash is enough to store. */
export function mintTicket(): { readonly ticket: string; readonly hash: Buffer } {
  const ticket = randomBytes(32).toString("base64url");
  return { ticket, hash: hashTicket(ticket) };
}

export const hashTicket = (ticket: string): Buffer => createHash("sha256").update(ticket).digest();

/** The subprotocol that names the kind of console. */
export const protocolOf = (type: "serial" | "vnc"): string => `kule.console.${type}.v1`;

const TICKET = /^kule\.ticket\.([A-Za-z0-9_-]{43})$/;

/** Kind and ticket out of the subprotocols a client offers; null when they are not there or not alone. */
export function presented(
  protocols: readonly string[],
): { readonly type: "serial" | "vnc"; readonly protocol: string; readonly hash: Buffer } | null {
  const types = (["serial", "vnc"] as const).filter((type) => protocols.includes(protocolOf(type)));
  const tickets = protocols.flatMap((each) => TICKET.exec(each)?.[1] ?? []);
  const [type, ...moreTypes] = types;
  const [ticket, ...moreTickets] = tickets;
  if (type === undefined || ticket === undefined || moreTypes.length + moreTickets.length > 0) return null;
  return { type, protocol: protocolOf(type), hash: hashTicket(ticket) };
}
