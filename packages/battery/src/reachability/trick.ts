import type { Segment } from "./segments.ts";

/** Frames that no honest kernel would send, from an attacker with root access in a VM, or more than that. */
export type Trick = {
  /** In words; names the promise that is broken when it arrives. */
  readonly name: string;
  readonly place: string;
  readonly device: string;
  /** Each carries the number. */
  frames(flow: number): readonly Buffer[];
  /** The only segment on which it may be seen; null: it must not even leave its own cable. */
  readonly within: Segment | null;
  /** Where it must arrive: a trick that would be dropped for any other reason proves nothing. */
  readonly must?: string;
  /** Where it must not arrive, although the segment is one on which it may be seen. */
  readonly mustNot?: string;
};
