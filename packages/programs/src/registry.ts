// Every kind of job of a region and the program that does it. A kind without a program does not compile.

import type { JobPayload, PayloadOf, RegionJobKind, ServerJobKind } from "@kule/contract/schemas";
import { requestCertificate } from "./certificates/program.ts";
import { RetryLater } from "./errors.ts";
import { applyFirewall } from "./firewalls/program.ts";
import { applyLoadBalancer } from "./load-balancers/program.ts";
import { applyNetwork } from "./networks/program.ts";
import { type DryLook, planOnly } from "./plan-only.ts";
import type { Host, Job, Observed, Program, Step, World } from "./program.ts";
import { attachPublicIp, detachPublicIp } from "./public-ips/program.ts";
import { runProgram } from "./run-program.ts";
import { adoptServer } from "./servers/adopt-server/program.ts";
import { createServer } from "./servers/create-server/program.ts";
import { destroyServer } from "./servers/destroy-server/program.ts";
import { powerServer } from "./servers/power-server/program.ts";
import { rebuildServer } from "./servers/rebuild-server/program.ts";
import { reconcileServer } from "./servers/reconcile-server/program.ts";
import { resetPassword } from "./servers/reset-password/program.ts";
import { resizeServer } from "./servers/resize-server/program.ts";
import { restoreServer } from "./servers/restore-server/program.ts";
import { stopServer } from "./servers/stop-server/program.ts";
import { updateServer } from "./servers/update-server/program.ts";

type Runner<Kind extends RegionJobKind> = {
  run(job: Job<PayloadOf<Kind>>, world: World, host: Host): Promise<Observed>;
  plan(job: Job<PayloadOf<Kind>>, world: World, look: DryLook): Promise<readonly string[]>;
};

function runnerOf<Kind extends RegionJobKind, Seen, S extends Step>(
  program: Program<Kind, Seen, S>,
): Runner<Kind> {
  return {
    run: (job, world, host) => runProgram(program, job, world, host),
    plan: (job, world, look) => planOnly(program, job, world, look),
  };
}

const RUNNERS: { readonly [Kind in RegionJobKind]: Runner<Kind> } = {
  ServerCreate: runnerOf(createServer),
  ServerAdopt: runnerOf(adoptServer),
  ServerStop: runnerOf(stopServer),
  ServerRestore: runnerOf(restoreServer),
  ServerDestroy: runnerOf(destroyServer),
  ServerPower: runnerOf(powerServer),
  ServerResize: runnerOf(resizeServer),
  PublicIpAttach: runnerOf(attachPublicIp),
  PublicIpDetach: runnerOf(detachPublicIp),
  ServerRebuild: runnerOf(rebuildServer),
  ServerPasswordReset: runnerOf(resetPassword),
  ServerUpdate: runnerOf(updateServer),
  ServerReconcile: runnerOf(reconcileServer),
  FirewallApply: runnerOf(applyFirewall),
  NetworkApply: runnerOf(applyNetwork),
  CertificateRequest: runnerOf(requestCertificate),
  LoadBalancerApply: runnerOf(applyLoadBalancer),
};

/** Every kind of job that a region can have. */
export const JOB_KINDS = Object.keys(RUNNERS) as readonly RegionJobKind[];

/** Those of servers. */
export const SERVER_JOB_KINDS = JOB_KINDS.filter(
  (kind) => kind !== "NetworkApply" && kind !== "CertificateRequest" && kind !== "LoadBalancerApply",
) as readonly ServerJobKind[];

/** The kinds that an agent reports it can run: only one with an edge is assigned the edge's jobs. */
export function kindsFor(hasEdge: boolean): readonly RegionJobKind[] {
  return hasEdge ? JOB_KINDS : JOB_KINDS.filter((kind) => kind !== "NetworkApply");
}

/** Runs a claimed job. Throws as `runProgram` does; an unknown kind is released for a newer agent. */
export async function runJob(job: Job<JobPayload>, world: World, host: Host): Promise<Observed> {
  return runnerFor(job).run(job as Job<never>, world, host);
}

/**
 * The names of the steps that the job would take now; none when everything is as it should be. Changes nothing. Throws
 * NotPlanned when that cannot be known without a change or a wait, and what the observation throws.
 */
export async function planJob(job: Job<JobPayload>, world: World, look: DryLook): Promise<readonly string[]> {
  return runnerFor(job).plan(job as Job<never>, world, look);
}

function runnerFor({ payload: { kind } }: Job<JobPayload>): Runner<RegionJobKind> {
  const runner = (RUNNERS as Readonly<Record<string, Runner<RegionJobKind> | undefined>>)[kind];
  if (!runner)
    throw new RetryLater({
      code: "job_kind_unknown",
      message: "The region's agent is too old for this; it is tried again.",
      internal: `this agent does not know jobs of kind ${kind}`,
    });
  return runner;
}
