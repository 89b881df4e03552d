// The publisher's keys. A build has those of one generation; each later generation is signed by a key of the one before.

import { type Envelope, isPublicKey, openEnvelope } from "./envelope.ts";
import { RELEASE_LIMITS } from "./release.ts";

export type ReleaseKeys = {
  readonly generation: number;
  /** Public ones, each the 32 bytes in base64. */
  readonly keys: readonly string[];
};

/** The payload of an envelope that names the next generation. */
export type SuccessorKeys = ReleaseKeys & { readonly kind: "kule-agent-keys"; readonly format: 1 };

const MOST_GENERATIONS = 1_000_000;

/** The keys that a value names; null when it names none. */
export function asReleaseKeys(value: unknown): ReleaseKeys | null {
  if (typeof value !== "object" || value === null) return null;
  const { generation, keys } = value as Partial<Record<keyof ReleaseKeys, unknown>>;
  if (typeof generation !== "number" || !Number.isSafeInteger(generation)) return null;
  if (generation < 1 || generation > MOST_GENERATIONS) return null;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > RELEASE_LIMITS.keysOfGeneration) return null;
  return keys.every(isPublicKey) && new Set(keys).size === keys.length
    ? { generation, keys: keys as string[] }
    : null;
}

/** The keys of a file, as a build is given them; null when it names none. */
export function readReleaseKeys(text: string): ReleaseKeys | null {
  try {
    return asReleaseKeys(JSON.parse(text));
  } catch {
    return null;
  }
}

export type NewestKeys =
  | { readonly kind: "keys"; readonly keys: ReleaseKeys }
  | { readonly kind: "broken"; readonly message: string };

/**
 * The newest generation that is proven from those in the build, or from the newest that this machine has accepted before. That
 * one is kept with its keys and not by its number: a stolen key of a former generation could name another successor.
 */
export function newestKeys(
  builtIn: ReleaseKeys,
  known: ReleaseKeys | null,
  chain: readonly Envelope[],
): NewestKeys {
  if (chain.length > RELEASE_LIMITS.keyEnvelopes) return broken("there are too many generations of keys");
  let newest = known !== null && known.generation >= builtIn.generation ? known : builtIn;
  for (const envelope of chain) {
    const generation = claimedGeneration(envelope);
    // Of a generation that is over: who has its keys has no say any more.
    if (generation !== null && generation <= newest.generation) continue;
    const opened = openEnvelope(envelope, "kule-agent-keys", newest.keys);
    if (opened.kind === "unsigned")
      return broken(`keys after generation ${newest.generation}: ${opened.message}`);
    const { kind, format } = opened.payload as Partial<SuccessorKeys>;
    const next = kind === "kule-agent-keys" && format === 1 ? asReleaseKeys(opened.payload) : null;
    if (next === null) return broken(`keys after generation ${newest.generation} are malformed`);
    if (next.generation !== newest.generation + 1)
      return broken(`generation ${next.generation} of keys does not follow ${newest.generation}`);
    newest = next;
  }
  return { kind: "keys", keys: newest };
}

const broken = (message: string): NewestKeys => ({ kind: "broken", message });

/** What an envelope says, before anything is proven. */
function claimedGeneration({ payload }: Envelope): number | null {
  try {
    return asReleaseKeys(JSON.parse(Buffer.from(payload, "base64").toString("utf8")))?.generation ?? null;
  } catch {
    return null;
  }
}
