import { RetryLater } from "../errors.ts";
import { type Bundle, bundleName, type GuestState, renderBundle } from "../guest-state/bundle.ts";
import {
  applyGuestState,
  type GuestOf,
  observeGuestState,
  planGuestState,
  sendGuestState,
} from "../guest-state/guest-state.ts";
import { noEffect, StateGuest } from "./state-guest.ts";

export function stateOf(generation: number, more: Partial<GuestState> = {}): GuestState {
  return {
    generation,
    files: [
      { path: "app/config", mode: 0o644, content: `generation ${generation}\n` },
      { path: "app/key.pem", mode: 0o600, content: "swordfish" },
    ],
    validate: ["test", "-s", "app/config"],
    units: [{ name: "app.service", change: "reload" }],
    check: ["grep", "-q", `generation ${generation}`, "app/config"],
    ...more,
  };
}

/** What a program does: look, plan, apply, look again. */
export async function bring(guest: GuestOf, bundle: Bundle): Promise<void> {
  for (const step of planGuestState(bundle, await observeGuestState(guest, noEffect)))
    if (step === "send-state") await sendGuestState(guest, bundle, noEffect);
    else await applyGuestState(guest, bundle, noEffect);
}

export async function isBrought(guest: GuestOf, bundle: Bundle): Promise<boolean> {
  return planGuestState(bundle, await observeGuestState(guest, noEffect)).length === 0;
}

/**
 * Kills the script before each of its programs that change something, on the way to a new state each time; then the guest must
 * have its old state or the new one, and what the program does next must bring the new one. In the end, a state that is
 * not valid must be refused.
 *
 * @param script another text of the script
 * @param progress called after each kill
 */
export async function killAtEveryProgram(
  script?: string,
  progress: (kills: number) => void = () => {},
): Promise<{ kills: number; violations: string[] }> {
  const guest = new StateGuest(true, script);
  const texts = new Map<string | null, string>();
  const violations: string[] = [];
  const bundleOf = (generation: number, more: Partial<GuestState> = {}) => {
    const bundle = renderBundle(stateOf(generation, more));
    texts.set(bundleName(bundle), `generation ${generation}\n`);
    return bundle;
  };
  const look = async (when: string, allowed: readonly Bundle[]) => {
    const { current } = await observeGuestState(guest, noEffect);
    if (!allowed.some((bundle) => bundleName(bundle) === current))
      violations.push(`${when}, the guest has the state ${current ?? "of nobody"}`);
    else if (guest.read("app/config") !== texts.get(current))
      violations.push(`${when}, the files are not those of the state ${current}`);
  };
  let kills = 0;
  try {
    let before = bundleOf(1);
    await bring(guest, before);
    for (let isKilled = true; isKilled && violations.length === 0; ) {
      const next = bundleOf(kills + 2);
      const when = `killed before its program ${kills}`;
      guest.killBefore = kills;
      isKilled = await wasKilled(bring(guest, next));
      guest.killBefore = null;
      await look(when, [before, next]);
      if (await wasKilled(bring(guest, next))) violations.push(`${when}, the same calls again do not finish`);
      await look(`${when} and brought again`, [next]);
      if (!(await isBrought(guest, next))) violations.push(`${when}, the new state never comes`);
      before = next;
      if (isKilled) kills += 1;
      progress(kills);
    }
    const invalid = bundleOf(kills + 1_000, { validate: ["false"] });
    const isRefused = await bring(guest, invalid).then(
      () => false,
      () => true,
    );
    if (!isRefused) violations.push("a state that is not valid is in force");
    await look("after a state that is not valid", [before]);
  } finally {
    guest.close();
  }
  return { kills, violations };
}

/** A call that was killed has no answer. */
function wasKilled(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => false,
    (error: unknown) => {
      if (error instanceof RetryLater) return true;
      throw error;
    },
  );
}
