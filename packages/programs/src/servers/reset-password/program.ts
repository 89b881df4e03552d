// ServerPasswordReset: a user of the guest gets another password, through the guest's agent or at its next start.

import type { PayloadOf } from "@kule/contract/schemas";
import { ProxmoxAgentUnavailable } from "@kule/proxmox/errors";
import { withJobNote } from "@kule/proxmox/job-note";
import { Failed } from "../../errors.ts";
import type { Program, World } from "../../program.ts";
import {
  lastLookAtPower,
  noteOnVm,
  observedPower,
  observeExisting,
  ownerOf,
  type SeenVm,
} from "../existing-server.ts";
import { guestAgentUnavailable } from "../vm-problems.ts";
import { type PasswordStep, planPasswordReset } from "./plan.ts";

/** The agent of a guest that has just been started comes up within this time; on Windows it may take longer. */
const AGENT_LOOKS = 10;
const AGENT_PAUSE_MILLISECONDS = 3_000;

export const resetPassword: Program<"ServerPasswordReset", SeenVm, PasswordStep> = {
  kind: "ServerPasswordReset",
  irreversible: new Set(["tell-guest", "write"]),
  observe: observeExisting,
  lastLook: lastLookAtPower,
  plan: ({ id, payload }, seen) => planPasswordReset(id, payload, seen),
  apply: {
    "tell-guest": async (_, job, world, effect) => {
      const { vmid, username, os_family } = job.payload;
      const user = {
        name: username,
        password: passwordOf(job.payload, world),
        crypted: os_family === "linux",
      };
      for (let look = 1; ; look++) {
        try {
          await world.hypervisor.setGuestPassword(vmid, ownerOf(job, world), user, effect);
          return;
        } catch (error) {
          if (!(error instanceof ProxmoxAgentUnavailable)) throw error;
          if (look >= AGENT_LOOKS) throw guestAgentUnavailable(error.message);
          await effect.stillRunning(look * AGENT_PAUSE_MILLISECONDS);
          await world.runtime.pause(AGENT_PAUSE_MILLISECONDS, effect.signal);
        }
      }
    },
    note: ({ vm }, job, world, effect) => noteOnVm(job, world, { password: "set" }, vm, effect),
    write: ({ vm }, job, world, effect) => {
      const note = { jobId: job.id, facts: { password: "written" } };
      const desired = {
        description: withJobNote(vm.config.description, note),
        cipassword: passwordOf(job.payload, world),
      };
      const { vmid } = job.payload;
      return world.hypervisor.configure(vmid, ownerOf(job, world), { desired, rewriteSecrets: true }, effect);
    },
  },
  observed: (_, seen) => observedPower(seen),
};

/** Linux takes a hash; for Windows the password itself was sealed to this agent, as this server's. */
function passwordOf(payload: PayloadOf<"ServerPasswordReset">, { openSecret }: World): string {
  if (payload.os_family === "linux") {
    if (payload.password_hash?.startsWith("$6$")) return payload.password_hash;
    throw unreadable("there is no $6$ crypt hash in the payload");
  }
  try {
    return openSecret(payload.sealed_password ?? "", payload.server.id);
  } catch (cause) {
    throw unreadable(
      `it does not open with this agent's key: ${cause instanceof Error ? cause.message : cause}`,
    );
  }
}

function unreadable(why: string): Failed {
  return new Failed({
    code: "password_unreadable",
    message: "The generated password did not reach the region. Ask for another one.",
    internal: why,
  });
}
