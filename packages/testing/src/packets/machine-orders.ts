export type Protocol = "icmp" | "tcp" | "udp";

/** An order for a machine of the test's wires. */
export type MachineOrder =
  | { readonly id: number; readonly do: "listen"; readonly protocol: "tcp" | "udp"; readonly port: number }
  /** Which datagrams have been received since the last query. */
  | { readonly id: number; readonly do: "arrivals" }
  /** Opens a connection and keeps it. */
  | { readonly id: number; readonly do: "connect"; readonly to: string; readonly port: number }
  /** Whether data sent over it is echoed. */
  | { readonly id: number; readonly do: "speak"; readonly connection: number; readonly waitMs: number }
  | {
      readonly id: number;
      readonly do: "send";
      readonly protocol: Protocol;
      readonly to: string;
      readonly port?: number;
      /** Another source than its own; it must be one of the machine's addresses. */
      readonly from?: string;
      readonly bytes?: number;
      readonly waitMs: number;
    };

/** `seenAs`: it passed, and the other side reports its source address. */
export type Outcome =
  | "passed"
  | "refused"
  | "silent"
  | { readonly seenAs: string }
  | { readonly arrivals: readonly string[] };

export type MachineOrderResult = {
  readonly id: number;
  /** `failed`: the machine could not even try, which says nothing about the network. */
  readonly outcome: Outcome | { readonly failed: string };
};
