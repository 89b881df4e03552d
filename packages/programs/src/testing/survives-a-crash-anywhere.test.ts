import { AssertionError } from "node:assert";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../run-program.ts";
import { createServer } from "../servers/create-server/program.ts";
import { createJob, endState, type LabRegion, quietHost, startLabRegion } from "./lab-region.ts";
import { survivesACrashAnywhere } from "./survives-a-crash-anywhere.ts";

let region: LabRegion;
let nextVmid = 20_900;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());

/** `newProgram` makes the program for one run, so that it may remember what this run has done. */
function crashCases(newProgram: () => typeof createServer) {
  return async () => {
    const vmid = nextVmid++;
    return {
      run: (at: (name: string) => void) =>
        runProgram(newProgram(), createJob(vmid), region.world, quietHost({ crashPoint: at })),
      state: () => endState(region, vmid),
      effects: async () => region.effects(vmid),
    };
  };
}

const NOTHING_THERE = { state: "absent", poolExists: false, template: { vmid: 9000, node: "pve1" } } as const;

describe("The crash helper catches a program", { timeout: 120_000 }, () => {
  it("that clones before it has observed, into whatever VMID is free", async () => {
    const blind = (): typeof createServer => {
      let looked = false;
      return {
        ...createServer,
        observe: async (job, world, effect) => {
          if (looked) return createServer.observe(job, world, effect);
          looked = true;
          return NOTHING_THERE;
        },
        apply: {
          ...createServer.apply,
          clone: async (step, job, world, effect) => {
            const { vmid } = job.payload;
            const taken = region.lab.control.vm(vmid) !== undefined;
            const target = { ...job, payload: { ...job.payload, vmid: taken ? vmid + 5_000 : vmid } };
            await createServer.apply.clone(step, target, world, effect);
          },
        },
      };
    };
    const error = await survivesACrashAnywhere(crashCases(blind)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AssertionError);
    expect(String(error)).toContain("after a crash at ServerCreate.clone.");
    expect(String(error)).toContain("vms");
  });

  it("that writes its config again although nothing differs", async () => {
    const forgetful = (): typeof createServer => ({
      ...createServer,
      plan: (job, seen, world) => {
        const steps = createServer.plan(job, seen, world);
        const [only] = steps;
        return steps.length === 1 && only?.do === "start"
          ? [{ do: "configure", rewriteSecrets: true }, only]
          : steps;
      },
    });
    await expect(survivesACrashAnywhere(crashCases(forgetful))).rejects.toThrow(
      /after a crash at ServerCreate\.configure/,
    );
  });

  it("that never believes what it has done", async () => {
    const stubborn = (): typeof createServer => ({
      ...createServer,
      plan: (job, seen, world) => {
        const steps = createServer.plan(job, seen, world);
        return steps.length > 0 ? steps : [{ do: "start" }];
      },
    });
    await expect(survivesACrashAnywhere(crashCases(stubborn))).rejects.toThrow(/not_converged/);
  });
});
