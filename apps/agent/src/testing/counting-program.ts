// A job whose effects can be counted: it needs a number of marks in a list, one step and one call for each.
// It runs in the real engine.

import type { Host, Job, Observed, Program, World } from "@kule/programs/program";
import { runProgram } from "@kule/programs/run-program";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import { systemRuntime } from "@kule/proxmox/runtime";

type Mark = { readonly do: string };

export const stopPayload = (server = "srv_1") => ({
  kind: "ServerStop" as const,
  server: { id: server, organisation_id: "org_1", name: "web-1" },
  vmid: 20_000,
});

export type CountingRegion = {
  /** Effects, in the order in which they happened. */
  readonly effects: string[];
  readonly run: (job: Job, host: Host) => Promise<Observed>;
};

export type Work = {
  readonly name: string;
  readonly host: Host;
  /** Another effect of the same step. Rejects when it may not begin. */
  readonly again: () => Promise<void>;
};

/**
 * @param names of the effects, in order
 * @param working is awaited inside each effect, after it was counted; while it is pending the step takes its time
 * @param irreversible the effect from which on there is no way back
 */
export function countingRegion(
  names: readonly string[],
  working: (work: Work) => Promise<void> = async () => {},
  irreversible?: string,
): CountingRegion {
  const effects: string[] = [];
  const run = (job: Job, host: Host) => {
    const program: Program<"ServerStop", readonly string[], Mark> = {
      kind: "ServerStop",
      observe: async () => [...effects],
      plan: (_, seen) => names.filter((name) => !seen.includes(name)).map((name) => ({ do: name })),
      apply: Object.fromEntries(
        names.map((name) => [
          name,
          async (_: Mark, __: unknown, ___: unknown, effect: EffectContext) => {
            const again = async () => {
              await effect.beforeCall();
              effects.push(name);
            };
            await again();
            await working({ name, host, again });
          },
        ]),
      ),
      observed: () => ({ power_state: "off", node: "pve1" }),
      ...(irreversible === undefined ? {} : { irreversible: new Set([irreversible]) }),
    };
    // The program uses nothing of its world.
    const world = { runtime: systemRuntime } as unknown as World;
    return runProgram(program, job as Parameters<typeof program.observe>[0], world, host);
  };
  return { effects, run };
}
