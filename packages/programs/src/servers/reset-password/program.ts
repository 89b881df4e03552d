// ServerPasswordReset: a user of the guest gets another password, through the guest's agent or at its next start.

import type { PayloadOf } from "@kule/contract/schemas";
import { withJobNote } from "@kule/proxmox/job-note";
import { Failed } from "../../errors.ts";
import type { Program, World } from "../../program.ts";
import {
  lastPowerState,
  noteOnVm,
  observedPower,
  observeExisting,
  ownerOf,
  type SeenVm,
} from "../existing-server.ts";
import { type GuestAgentTimeout, setGuestPassword } from "../guest-password.ts";
import { type PasswordStep, planPasswordReset } from "./plan.ts";

/**
 * The agent of a guest that has just been started answers within this time; on Windows it may take longer.
 */
const AGENT_TIMEOUT: GuestAgentTimeout = { limitMilliseconds: 27_000, pauseMilliseconds: 3_000 };

export const resetPassword: Program<"ServerPasswordReset", SeenVm, PasswordStep> = {
  kind: "ServerPasswordReset",
  irreversible: new Set(["tell-guest", "write"]),
  observe: observeExisting,
  lastObservation: lastPowerState,
  plan: ({ id, payload }, seen) => planPasswordReset(id, payload, seen),
  apply: {
    "tell-guest": (_, job, world, effect) => {
      const { vmid, username, os_family } = job.payload;
      const user = {
        name: username,
        password: passwordOf(job.payload, world),
        crypted: os_family === "linux",
      };
      return setGuestPassword({ vmid, owner: ownerOf(job, world), user }, AGENT_TIMEOUT, world, effect);
    },
    note: ({ vm }, job, world, effect) => noteOnVm(job, world, { password: "set" }, vm, effect),
    write: ({ vm }, job, world, effect) => {
      if (job.payload.os_family !== "linux") throw neverOnTheDrive();
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

/** The API refuses it. The drive has a Windows password in clear, for every user of the guest to read (ADR 0029). */
function neverOnTheDrive(): Failed {
  return new Failed({
    code: "invalid_payload",
    message: "A Windows password can only be set while the server runs.",
    internal:
      "when: next_boot for a Windows guest would put its password on the cloud-init drive in clear text",
  });
}

function unreadable(why: string): Failed {
  return new Failed({
    code: "password_unreadable",
    message: "The generated password did not reach the region. Ask for another one.",
    internal: why,
  });
}
