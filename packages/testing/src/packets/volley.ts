/** A namespace from which packets are sent and where they are captured. */
export type Place = { readonly name: string; readonly namespace: string };

/** A place's own addresses, read from within. */
export type PlaceSeen = {
  readonly name: string;
  readonly devices: readonly {
    readonly device: string;
    readonly mac: string;
    readonly addresses: readonly string[];
  }[];
};

/** One packet of a volley. Its flow is its number; see `frames.ts`. */
export type Shot = {
  readonly flow: number;
  readonly place: string;
  /**
   * The event that ends the wait, before the volley's limit. For a packet that must arrive nowhere: nothing.
   */
  readonly until: "answered" | "arrived" | "nothing";
} & (
  | {
      /** By a socket, as any program of the guest. */
      readonly by: "tcp" | "udp" | "icmp";
      readonly to: string;
      /** None with ICMP. */
      readonly port: number;
      /** One of its own addresses; the kernel's choice when absent. */
      readonly from?: string;
      /** So long that it has to be sent in fragments. */
      readonly bytes?: number;
    }
  | { readonly by: "frame"; readonly device: string; readonly frame: string }
);

export type Seen = { readonly flow: number; readonly place: string; readonly device: string };

export type VolleyOutcome = {
  /** Where the packet itself arrived, in a frame for the device's own MAC or for all. */
  readonly arrived: readonly Seen[];
  /** Where it was in a frame for another machine, as a switch floods frames for an unknown receiver. */
  readonly overheard: readonly Seen[];
  readonly answered: readonly number[];
  /** Packets that the sender's own kernel would not send: it has no such address, or no route. */
  readonly unsent: readonly number[];
};

export type StationOrder = { readonly id: number } & (
  | { readonly do: "attend"; readonly places: readonly Place[]; readonly ports: readonly number[] }
  | {
      readonly do: "shoot";
      readonly shots: readonly Shot[];
      readonly limitMs: number;
      /** How long packets that should arrive nowhere are watched for after the others have arrived. */
      readonly graceMs: number;
    }
);

export type StationAnswer =
  | { readonly id: number; readonly seen: readonly PlaceSeen[] }
  | { readonly id: number; readonly outcome: VolleyOutcome }
  | { readonly id: number; readonly error: string };
