// What the agent makes of what it is told and of what root remembers: decisions only.

import { isVersion } from "@kule/agent-release/version";
import type { Schemas } from "@kule/contract/schemas";
import type { MachineState } from "./machine-state.ts";

export type Progress = Schemas["AgentUpdate"];

/** An operator on this machine asks for a version: `kule-agent update --to`. */
export type Wish = { readonly format: 1; readonly version: string; readonly at: string };

/** After this it is forgotten. */
const WISH_MILLISECONDS = 3_600_000;

/** Null when it is none. */
export function asWish(text: string): Wish | null {
  try {
    const { format, version, at } = JSON.parse(text) as Partial<Wish>;
    return format === 1 && isVersion(version ?? "") && Number.isFinite(Date.parse(at ?? ""))
      ? { format, version: version as string, at: at as string }
      : null;
  } catch {
    return null;
  }
}

export type Situation = {
  readonly running: string;
  /** The control plane's, by its last answer. */
  readonly wanted: string | null;
  readonly wish: Wish | null;
  readonly root: MachineState;
  /** When a version may be tried again, in milliseconds since 1970, and since when that is so. */
  readonly blocked: ReadonlyMap<string, { readonly since: number; readonly until: number }>;
  readonly nowMs: number;
};

/** The version to be updated to now; null when there is nothing to do. */
export function versionToTry({ running, wanted, wish, root, blocked, nowMs }: Situation): string | null {
  // The updater is at one.
  if (root.phase !== "idle") return null;
  const wishedAt = wish === null ? Number.NaN : Date.parse(wish.at);
  const isWish = wish !== null && Math.abs(nowMs - wishedAt) < WISH_MILLISECONDS;
  const version = isWish ? wish.version : wanted;
  if (version === null || version === running) return null;
  // How it ended before stays what is reported.
  if (root.bad_versions.some((bad) => bad.version === version)) return null;
  const block = blocked.get(version);
  // Whoever asks again on the machine itself has seen how it ended.
  if (block !== undefined && nowMs < block.until && !(isWish && wishedAt > block.since)) return null;
  return version;
}

/** How far root is with an update, or how its last one ended; null before the first. */
export function progressOf(root: MachineState, running: string): Progress | null {
  if (root.phase === "watching" && root.update.to === running)
    return { version: running, state: "swapped", code: null, message: null, at: root.update.since };
  if (root.result === null) return null;
  const { version, state, code, message, at } = root.result;
  return { version, state, code, message, at };
}
