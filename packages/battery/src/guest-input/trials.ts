import type { RowRun } from "../row.ts";
import { GuestWorld, type Trial } from "./guest-world.ts";
import { guestTexts } from "./hostile-corpus.ts";

/** One in so many texts of the corpus is in a sample; the first one is random. */
const everyNth = 12;
/** Texts of every sample: those that only one line of defence refuses. */
const always = [
  "null",
  "yes",
  "0x10",
  "a: b",
  "#cloud-config",
  "xn--nxasmq6b",
  "9.9.9.9 1.1.1.1",
  "x\nruncmd: [id]",
];

export type Trials = {
  readonly plainWithKey: Trial;
  readonly plainWithPassword: Trial;
  readonly trials: readonly Trial[];
  /** Uses of a text in a field. */
  readonly cases: number;
  readonly accepted: number;
};

/** Tries the corpus, or a sample of it, in a world of its own. */
export async function tryCorpus({ scale, random, progress }: RowRun): Promise<Trials> {
  const offset = Math.floor(random() * everyNth);
  const texts =
    scale === "full"
      ? guestTexts
      : guestTexts.filter((text, index) => index % everyNth === offset || always.includes(text));
  const world = await GuestWorld.open();
  try {
    const plainWithKey = await world.plain(true);
    const plainWithPassword = await world.plain(false);
    const trials: Trial[] = [];
    for (const text of texts) {
      trials.push(await world.trial(text));
      if (trials.length % 25 === 0) progress(`${trials.length} of ${texts.length} texts`);
    }
    return {
      plainWithKey,
      plainWithPassword,
      trials,
      cases: trials.reduce((sum, { accepted, refused }) => sum + accepted.length + refused, 0),
      accepted: trials.reduce((sum, { accepted }) => sum + accepted.length, 0),
    };
  } finally {
    await world.close();
  }
}
