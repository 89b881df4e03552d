import { generateKeyPairSync, type KeyObject, randomBytes, randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as sleepReal } from "node:timers/promises";

/** The lab's only source of time and random numbers, so that a test can replace both. */
export interface Runtime {
  /** Real seconds per simulated second: 0 makes everything immediate (but asynchronous), 1 is lifelike. */
  readonly timeScale: number;
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Waits `seconds` of simulated time; at scale 0 one turn of the event loop. */
  wait(seconds: number): Promise<void>;
  /** Real waiting, for deadlines that protect the lab itself. */
  sleepMs(milliseconds: number): Promise<void>;
  /** Calls back after real milliseconds; the returned function cancels. Never keeps the process running. */
  after(milliseconds: number, callback: () => void): () => void;
  /** Uniform in [0, 1). */
  random(): number;
}

/** `length` hexadecimal digits from the runtime's generator. */
export function randomHex(runtime: Runtime, length: number): string {
  let text = "";
  while (text.length < length) text += Math.floor(runtime.random() * 16).toString(16);
  return text;
}

/** A version 4 UUID from the runtime's generator. */
export function randomUuid(runtime: Runtime): string {
  const hex = randomHex(runtime, 30);
  const variant = "89ab"[Math.floor(runtime.random() * 4)];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-${variant}${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
}

/** Mulberry32: small, seedable, good enough for MAC addresses and process numbers. */
export function seededGenerator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Secrets come from the system, never from a seed: a seed is public. */
export const systemSecrets = {
  token: (): string => randomUUID(),
  bytes: (count: number): Buffer => randomBytes(count),
  keyPair: (): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } =>
    generateKeyPairSync("ec", { namedCurve: "P-256" }),
};

/** The runtime of a real process. */
export function systemRuntime(timeScale: number, seed: number, clockSkewMs = 0): Runtime {
  return {
    timeScale,
    nowMs: () => Date.now() + clockSkewMs,
    wait: async (seconds) => {
      if (timeScale === 0 || seconds <= 0) await nextTurn();
      else await sleepReal(seconds * timeScale * 1000, undefined, { ref: false });
    },
    sleepMs: async (milliseconds) => {
      await sleepReal(milliseconds, undefined, { ref: false });
    },
    after: (milliseconds, callback) => {
      const timer = setTimeout(callback, milliseconds);
      timer.unref();
      return () => clearTimeout(timer);
    },
    random: seededGenerator(seed),
  };
}
