import { ProxmoxAgentUnavailable } from "@kule/proxmox/errors";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import { expect, test } from "vitest";
import type { World } from "../program.ts";
import { setGuestPassword } from "./guest-password.ts";

const timeout = { limitMilliseconds: 27_000, pauseMilliseconds: 3_000 };
const target = {
  vmid: 20_000,
  owner: { serverId: "srv_1", region: "r1" },
  user: { name: "debian", password: "$6$x", crypted: true },
};

/** A guest whose agent answers from a time on, and how long each request takes, by its number. */
function guest(answersAt: number, durations: readonly number[] = []) {
  let now = 0;
  const askedAt: number[] = [];
  const world = {
    runtime: {
      now: () => now,
      async pause(milliseconds: number) {
        now += milliseconds;
      },
    },
    hypervisor: {
      async setGuestPassword() {
        const isUp = now >= answersAt;
        now += durations[askedAt.push(now) - 1] ?? 0;
        if (isUp) return;
        throw new ProxmoxAgentUnavailable({
          ...{ call: "agent/set-user-password", status: 500, text: "QEMU guest agent is not running" },
          ...{ outcome: "retryable", fix: null },
        });
      },
    },
  } as unknown as World;
  const effect = { stillRunning: async () => {}, signal: null } as unknown as EffectContext;
  return { askedAt, run: () => setGuestPassword(target as never, timeout, world, effect) };
}

test("an agent that does not answer is asked until the time is over, and no longer", async () => {
  const never = guest(Number.POSITIVE_INFINITY);
  await expect(never.run()).rejects.toMatchObject({ facts: { code: "guest_agent_unavailable" } });
  expect(never.askedAt).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27].map((seconds) => seconds * 1_000));
});

test("a process that was suspended while it asked asks once more when it wakes", async () => {
  const booted = guest(10_000, [0, 68_000]);
  await booted.run();
  expect(booted.askedAt).toEqual([0, 3_000, 74_000]);
});
