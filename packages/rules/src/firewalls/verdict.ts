import type { IpAddress } from "../public-ips/addresses.ts";
import type { CompiledFilter, CompiledRule, Side } from "./compile.ts";
import { includesPort } from "./ports.ts";

export type ProbeProtocol = "tcp" | "udp" | "icmp";

/** The first packet of a flow, as a server's filter sees it. */
export type Packet = {
  readonly direction: "in" | "out";
  readonly side: Side;
  /** The sender of an inbound packet; the receiver of an outbound one. */
  readonly peer: IpAddress;
  readonly protocol: ProbeProtocol;
  /** Of the one it is for; null where there are none. */
  readonly port: number | null;
};

export type FilterVerdict = {
  readonly isAllowed: boolean;
  /** Null: no rule matched, and the default has decided. */
  readonly rule: CompiledRule | null;
};

/**
 * What a server's filter does with the first packet of a flow. Answers to an allowed one pass without
 * evaluation.
 */
export function decidePacket({ isFiltered, rules }: CompiledFilter, packet: Packet): FilterVerdict {
  const rule = rules.find((each) => matches(each, packet)) ?? null;
  if (rule !== null) return { isAllowed: rule.action === "allow", rule };
  return { isAllowed: packet.direction === "out" || !isFiltered, rule: null };
}

function matches(rule: CompiledRule, packet: Packet): boolean {
  if (rule.direction !== packet.direction) return false;
  if (rule.side !== null && rule.side !== packet.side) return false;
  if (!isOfProtocol(rule, packet)) return false;
  if (rule.blocks === null) return true;
  const { version, value } = packet.peer;
  return rule.blocks.some(
    (block) => block.version === version && value >= block.first && value <= block.last,
  );
}

function isOfProtocol({ protocol, ports }: CompiledRule, packet: Packet): boolean {
  switch (protocol) {
    case "any":
      return true;
    case "tcp":
    case "udp":
      return packet.protocol === protocol && packet.port !== null && includesPort(ports, packet.port);
    // The two have the same job, each in its own version.
    case "icmp":
      return packet.protocol === "icmp" && packet.peer.version === 4;
    case "icmpv6":
      return packet.protocol === "icmp" && packet.peer.version === 6;
  }
}
