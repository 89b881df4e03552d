// The one way to put a state into a guest: observe what is in force, send the bundle in parts, apply it. Each is
// safe to repeat after a crash at any point; the script in the guest changes nothing but by one rename.

import type { GuestEnd } from "@kule/proxmox/guest-agent";
import type { EffectContext, Hypervisor, Owner } from "@kule/proxmox/hypervisor";
import { Failed, RetryLater } from "../errors.ts";
import { type Bundle, bundleName } from "./bundle.ts";

export type SeenGuestState = {
  /** The name of the bundle whose files are in force; null before the first. */
  readonly current: string | null;
  /** The last bundle that was carried out to its end. */
  readonly applied: string | null;
  readonly received: { readonly name: string; readonly characters: number } | null;
  /** Whether the state in force passes its check; null when it was not carried out to its end. */
  readonly passesCheck: boolean | null;
};

export type GuestStateStep = "send-state" | "apply-state";

/** A running guest, and what reaches its agent. */
export type GuestOf = {
  readonly hypervisor: Pick<Hypervisor, "runInGuest">;
  readonly vmid: number;
  readonly owner: Owner;
};

const SCRIPT = "/usr/local/sbin/kule-state";
/** Proxmox takes 64 KiB as the input of a program. */
const PART_CHARACTERS = 48 * 1024;

/** What the guest has now. Throws RetryLater when its agent or the script does not answer. */
export async function observeGuestState(guest: GuestOf, effect: EffectContext): Promise<SeenGuestState> {
  const { exitCode, output, errors } = await run(guest, ["show"], effect);
  if (exitCode !== 0) throw unreachable(`kule-state show ended with ${exitCode}: ${errors}`);
  return readShown(output);
}

/** The lines of `kule-state show`; whatever else a guest prints is left out. */
export function readShown(output: string): SeenGuestState {
  const values = (word: string) =>
    output
      .split("\n")
      .map((line) => line.split(" "))
      .find(([first]) => first === word);
  const nameAt = (word: string) => values(word)?.[1] ?? null;
  const [, name, characters] = values("received") ?? [];
  const count = Number(characters);
  const check = nameAt("check");
  return {
    current: nameAt("current"),
    applied: nameAt("applied"),
    received:
      name !== undefined && Number.isSafeInteger(count) && count >= 0 ? { name, characters: count } : null,
    passesCheck: check === null ? null : check === "passed",
  };
}

/** What is missing; nothing when the bundle is in force and passes its check. */
export function planGuestState(wanted: Bundle, seen: SeenGuestState): readonly GuestStateStep[] {
  const name = bundleName(wanted);
  if (seen.current === name && seen.applied === name) return seen.passesCheck === true ? [] : ["apply-state"];
  const isThere = seen.received?.name === name && seen.received.characters === wanted.text.length;
  return isThere ? ["apply-state"] : ["send-state", "apply-state"];
}

/** Sends what the guest does not have of the bundle yet. */
export async function sendGuestState(guest: GuestOf, bundle: Bundle, effect: EffectContext): Promise<void> {
  const { received } = await observeGuestState(guest, effect);
  let offset = received?.name === bundleName(bundle) ? Math.min(received.characters, bundle.text.length) : 0;
  const startedWith = offset;
  do {
    const part = bundle.text.slice(offset, offset + PART_CHARACTERS);
    const argv = ["receive", String(bundle.generation), bundle.sha256, String(offset)];
    const { exitCode, output, errors } = await run(guest, argv, effect, part);
    offset += part.length;
    // Another call of ours that was late, or a guest that was restored: the next look shows what it has.
    if (exitCode !== 0 || readShown(output).received?.characters !== offset)
      throw unreachable(
        `part at ${offset - part.length} of ${bundle.text.length} ended with ${exitCode}: ${errors}`,
      );
    effect.note?.(`${offset} of ${bundle.text.length} characters`);
  } while (offset < bundle.text.length && offset > startedWith);
}

/** Puts the received bundle in force. Throws Failed when the guest refuses it: the state before is in force then. */
export async function applyGuestState(guest: GuestOf, bundle: Bundle, effect: EffectContext): Promise<void> {
  const argv = ["apply", String(bundle.generation), bundle.sha256];
  const { exitCode, errors } = await run(guest, argv, effect);
  if (exitCode === 0) return;
  const internal = `kule-state apply of generation ${bundle.generation} ended with ${exitCode}: ${errors}`;
  if (exitCode === 5)
    throw new Failed({ code: "guest_state_superseded", message: "A newer state is in force.", internal });
  if (exitCode === 4 || (exitCode >= 7 && exitCode <= 9))
    throw new Failed({
      code: "guest_state_refused",
      message: "The appliance does not accept its new state. An operator has to look at it.",
      internal,
    });
  throw unreachable(internal);
}

/** Throws RetryLater when no agent answers. */
async function run(
  { hypervisor, vmid, owner }: GuestOf,
  argv: readonly string[],
  effect: EffectContext,
  input?: string,
): Promise<GuestEnd> {
  const command = { argv: [SCRIPT, ...argv], ...(input === undefined ? {} : { input }) };
  const end = await hypervisor.runInGuest(vmid, owner, command, effect);
  if (end === null)
    throw unreachable(`the guest agent does not run kule-state ${argv[0]}, or not to its end`);
  return end;
}

function unreachable(internal: string): RetryLater {
  return new RetryLater({
    code: "guest_state_unreachable",
    message: "The appliance does not answer; this is tried again.",
    internal,
  });
}
