import type { Segment } from "./segments.ts";

/** Frames that no honest kernel would send, from somebody who has root in a VM, or more than that. */
export type Trick = {
  /** In words; what says which promise is broken when it comes through. */
  readonly name: string;
  readonly place: string;
  readonly device: string;
  /** Each carries the number. */
  frames(flow: number): readonly Buffer[];
  /** The only segment on which it may be seen; null: it must not even leave its own cable. */
  readonly within: Segment | null;
  /** Where it must come: a trick that would be dropped for whatever reason shows nothing. */
  readonly must?: string;
  /** Where it must not come, although the segment is one on which it may be seen. */
  readonly mustNot?: string;
};
