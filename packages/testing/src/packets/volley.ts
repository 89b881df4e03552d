/** A namespace that packets are sent from and looked for in. */
export type Place = { readonly name: string; readonly namespace: string };

/** What a place has, seen from within. */
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
  /** What is waited for, up to the volley's limit. Of what is to arrive nowhere: nothing. */
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
  /** Where the packet itself came, in a frame for the device's own MAC or for all. */
  readonly arrived: readonly Seen[];
  /** Where it was in a frame for somebody else, as a switch floods those for whom it does not know. */
  readonly overheard: readonly Seen[];
  readonly answered: readonly number[];
  /** What the sender's own kernel would not send: it has no such address, or no way there. */
  readonly unsent: readonly number[];
};

export type StationOrder = { readonly id: number } & (
  | { readonly do: "attend"; readonly places: readonly Place[]; readonly ports: readonly number[] }
  | {
      readonly do: "shoot";
      readonly shots: readonly Shot[];
      readonly limitMs: number;
      /** How long what should come nowhere is looked for after all else has come. */
      readonly graceMs: number;
    }
);

export type StationAnswer =
  | { readonly id: number; readonly seen: readonly PlaceSeen[] }
  | { readonly id: number; readonly outcome: VolleyOutcome }
  | { readonly id: number; readonly error: string };
