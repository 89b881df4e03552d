import fc from "fast-check";
import { beginAttempt, claimable, endAttempt } from "../reference-model/attempts.ts";
import { nothingSeen, type Seen } from "../reference-model/endings.ts";
import type { ModelState } from "../reference-model/model-state.ts";
import type { ModelJob } from "../reference-model/types.ts";
import { type Command, command, type Ref, refs } from "./command.ts";
import { compareServer, compareUnnamed } from "./compare.ts";
import { type Real, same } from "./real-world.ts";

type HowItEnds = {
  readonly how: "succeeded" | "failed" | "cancelled" | "released";
  readonly power: "on" | "off" | null;
  readonly code: "template_missing" | "vm_missing";
  readonly isIrreversible: boolean;
  readonly atNextBoot: boolean;
};

const well: HowItEnds = {
  how: "succeeded",
  power: null,
  code: "template_missing",
  isIrreversible: false,
  atNextBoot: false,
};

/** The actions of the region's agent, at any moment and with any outcome. */
export function agentCommands(): fc.Arbitrary<Command>[] {
  const ends: fc.Arbitrary<HowItEnds> = fc.record({
    how: fc.constantFrom("succeeded", "succeeded", "succeeded", "failed", "cancelled", "released"),
    power: fc.constantFrom("on", "off", null),
    code: fc.constantFrom("template_missing", "vm_missing"),
    isIrreversible: fc.boolean(),
    atNextBoot: fc.boolean(),
  });
  return [
    fc.constant(null).map(() => command("the agent claims", (state, real) => claim(state, real))),
    fc
      .record({ ref: refs, ends })
      .map(({ ref, ends: how }) =>
        command(`the agent ends ${ref} ${JSON.stringify(how)}`, (state, real) =>
          endSome(state, real, ref, how),
        ),
      ),
  ];
}

/** It claims and runs every job, all with success: the next command finds running servers. */
export function agentWorks(): Command {
  return command("the agent does all there is", async (state, real) => {
    for (const id of [...real.held.keys()]) await end(state, real, id, well);
    while (claimable(state).length > 0) {
      await claim(state, real);
      for (const id of [...real.held.keys()]) await end(state, real, id, well);
    }
  });
}

async function claim(state: ModelState, real: Real): Promise<void> {
  const possible = claimable(state);
  const claimed = await real.agent.claim();
  real.counted.answers += 1;
  real.trace.push(`the agent claims ${claimed === null ? "nothing" : `${claimed.kind} ${claimed.id}`}`);
  if (claimed === null) {
    same(
      "jobs that the agent is not given",
      [],
      possible.map(({ id }) => id),
    );
    return;
  }
  const job = possible.find(({ id }) => id === claimed.id);
  if (job === undefined)
    throw new Error(`the agent was given ${claimed.kind} ${claimed.id}, which the model does not let wait`);
  same("the kind of the claimed job", claimed.kind, job.kind);
  beginAttempt(state, job, claimed.id);
  real.held.set(claimed.id, claimed);
  await compareServer(real, state, job.server);
}

async function endSome(state: ModelState, real: Real, ref: Ref, how: HowItEnds): Promise<void> {
  const ids = [...real.held.keys()];
  const id = ids[ref % Math.max(1, ids.length)];
  if (id !== undefined) await end(state, real, id, how);
}

async function end(state: ModelState, real: Real, id: string, ends: HowItEnds): Promise<void> {
  const { how, code, isIrreversible } = ends;
  const job = state.job(id);
  const claimed = real.held.get(id);
  if (job === undefined || claimed === undefined) return;
  real.held.delete(id);
  const seen = seenOf(job, ends);
  const errorCode = how === "failed" || how === "cancelled" ? code : null;
  const observed = {
    ...(seen.power === null ? {} : { power_state: seen.power }),
    ...(seen.publicNetwork === null ? {} : { public_network: seen.publicNetwork }),
  };
  const answer = await real.agent.report(claimed, {
    phase: "verify",
    ...(isIrreversible ? { irreversible: true } : {}),
    outcome: {
      status: how,
      ...(how === "released" ? {} : { observed }),
      ...(errorCode === null
        ? {}
        : { error: { code: errorCode, message: "It did not work", retryable: false } }),
    },
  });
  real.counted.answers += 1;
  real.trace.push(
    `the agent ends ${job.kind} ${id} as ${how} ${seen.power ?? ""}${isIrreversible ? " for good" : ""}: ${answer.status}`,
  );
  same(`the report of ${job.kind}`, answer.status, 200);
  if (isIrreversible) job.isIrreversible = true;
  const reported = how === "released" ? nothingSeen : seen;
  endAttempt(state, job, { ...reported, status: how, errorCode, vmidUnusable: null }, () => 0);
  await compareServer(real, state, job.server);
  await compareUnnamed(real, state);
}

function isIpJob({ kind }: ModelJob): boolean {
  return kind === "PublicIpAttach" || kind === "PublicIpDetach";
}

function seenOf(job: ModelJob, { power, atNextBoot }: HowItEnds): Seen {
  const leavesOff = job.kind === "ServerStop" || job.kind === "ServerDestroy";
  const network = atNextBoot ? "next_boot" : "applied";
  return {
    ...nothingSeen,
    power: leavesOff && power !== null ? "off" : power,
    publicNetwork: isIpJob(job) ? network : null,
  };
}
