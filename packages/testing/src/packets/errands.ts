export type Protocol = "icmp" | "tcp" | "udp";

/** What a machine of the test's wires is to do. */
export type Errand =
  | { readonly id: number; readonly do: "listen"; readonly protocol: "tcp" | "udp"; readonly port: number }
  /** Which datagrams have come since it was last asked. */
  | { readonly id: number; readonly do: "arrivals" }
  /** Opens a connection and keeps it. */
  | { readonly id: number; readonly do: "connect"; readonly to: string; readonly port: number }
  /** Whether something said over it comes back. */
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

/** `seenAs`: it passed, and the other side says which address it came from. */
export type Outcome =
  | "passed"
  | "refused"
  | "silent"
  | { readonly seenAs: string }
  | { readonly arrivals: readonly string[] };

export type ErrandResult = {
  readonly id: number;
  /** `failed`: the machine could not even try, which says nothing of the network. */
  readonly outcome: Outcome | { readonly failed: string };
};
