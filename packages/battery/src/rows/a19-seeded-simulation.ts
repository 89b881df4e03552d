import { oneReader } from "../mutants/one-reader.ts";
import type { Row, RowResult, RowRun } from "../row.ts";
import { checkConformance } from "../simulation/conformance.ts";
import { REGRESSIONS } from "../simulation/regressions.ts";
import { type BadSeed, newBadCount, runSeeds, type SeedsResult } from "../simulation/run-seeds.ts";
import { runInTwoThreads } from "../simulation/two-threads.ts";

/** Calls played to the model and to the real API: sequences of 48. */
const SEQUENCES = { sample: 12, full: 250 } as const;
const SEEDS = { sample: 2_400, full: 200_000 } as const;
const MOST_BAD = { sample: 3, full: 50 } as const;
/** Seeds of two base seeds do not meet. */
const SEEDS_OF_A_BASE = 500_000;
const BASES = 8_000;

export const row: Row = {
  id: "A19",
  title: "Whatever a seed crashes, pauses, loses or duplicates, I1 to I9 hold and every job ends",
  minutes: 12,
  alone: "but for its mutants",
  mutants: [
    {
      name: "unnumbered-clone",
      removes: "the VM number that was fixed before the clone",
      patches: [
        {
          file: "packages/proxmox/src/proxmox-hypervisor.ts",
          find: "          newid: vmid,",
          replace: `          newid: Number(await this.#client.call("GET /cluster/nextid", {})),`,
        },
      ],
      expects: /I1: |I2: /,
    },
    {
      name: "repeat-instead-of-looking",
      removes: "the observation after an answer that was lost",
      patches: [
        {
          file: "packages/programs/src/run-program.ts",
          find: "await apply(step, this.#job, this.#world, effect);",
          replace: `await apply(step, this.#job, this.#world, effect).catch((error) => {
      if (this.#crash || !needsNewObservation(error)) throw error;
      return apply(step, this.#job, this.#world, effect);
    });`,
        },
      ],
      expects: /a call followed one whose answer was lost, without a look between/,
    },
    {
      name: "lease-ignored",
      removes: "the check of the lease before an effect",
      patches: [
        {
          file: "packages/programs/src/run-program.ts",
          find: "const enough = () => this.#host.lease.remainingFraction() >= LEASE_FRACTION_FOR_EFFECTS;",
          replace: "const enough = () => true;",
        },
      ],
      expects: /an effect was begun (although the lease was over|with \d+ s of the lease left)/,
    },
    {
      name: "late-success-wins",
      removes: "the removal that a late success must not undo",
      patches: [
        {
          file: "packages/rules/src/servers/settle.ts",
          find: "status: isBeingDeleted(facts.status) ? facts.status : steady,",
          replace: "status: steady,",
        },
      ],
      expects: /model and API differ: a create that succeeds when its server has been deleted/,
    },
    {
      name: "marker-unread",
      removes: "the check of a VM's owner",
      patches: [
        {
          file: "packages/proxmox/src/vm-observation.ts",
          find: "return marker.serverId === owner.serverId && marker.region === owner.region;",
          replace: "return marker.serverId !== owner.region;",
        },
      ],
      expects: /I2: a stranger's VM was changed/,
    },
    {
      name: "size-never-applied",
      removes: "the check of pending changes after a resize",
      patches: [
        {
          file: "packages/programs/src/servers/resize-server/plan.ts",
          find: "const restart = on && vm.pendingKeys.some((key) => key in size);",
          replace: "const restart = false;",
        },
      ],
      expects: /I3: the VM still waits for a start to have its/,
    },
    {
      name: "rebuilt-again-and-again",
      removes: "the check that the VM was created by this rebuild",
      patches: [
        {
          file: "packages/programs/src/servers/rebuild-server/program.ts",
          find: "if (vm.marker.jobId === job.id)",
          replace: "if (vm.marker.jobId === job.payload.server.id)",
        },
      ],
      expects:
        /I13: VM \d+ was destroyed while its server is rebuilding|ServerRebuild .* failed with not_converged/,
    },
    {
      name: "half-made-and-started",
      removes: "the refusal to start a VM that a rebuild has left incomplete",
      patches: [
        {
          file: "packages/programs/src/servers/vm-problems.ts",
          find: "if (isComplete(payload, vm)) return;",
          replace: "if (vm.tags.length >= 0) return;",
        },
      ],
      expects: /I3: half a machine runs|I3: an address is attached to no interface/,
    },
    {
      name: "unprotected",
      removes: "the protection from a late copy of a rebuild's DELETE",
      patches: [
        {
          file: "packages/programs/src/servers/create-server/desired-vm.ts",
          find: 'protection: "1",',
          replace: "protection: null,",
        },
      ],
      expects: /I3: the VM is not protected|I13: VM \d+ was destroyed/,
    },
    {
      name: "config-comes-back",
      removes: "the job's id in every config that it changes",
      patches: [
        {
          file: "packages/proxmox/src/proxmox-hypervisor.ts",
          find: "...(description === vm.config.description ? {} : { description }),",
          replace: "",
        },
      ],
      expects: /the config of VM \d+ is again what it was before/,
    },
    {
      name: "buffer-stays",
      removes: "the removal of the deletion mark when a server is kept",
      patches: [
        {
          file: "packages/programs/src/servers/existing-server.ts",
          find: "vm.tags.filter((tag) => tag !== REMOVING_TAG)",
          replace: "vm.tags",
        },
      ],
      expects: /I3: a kept server's VM is marked for removal/,
    },
    {
      name: "adoption-unread",
      removes: "the note that a VM was never imported, when its server is removed",
      patches: [
        {
          file: "packages/programs/src/servers/existing-server.ts",
          find: 'return "taken_over" in payload && payload.taken_over === false;',
          replace: 'return "taken_over" in payload && payload.taken_over === null;',
        },
      ],
      expects: /Server(Stop|Destroy) .* failed with vm_not_ours|I2: VM \d+/,
    },
    {
      name: "renamed-in-the-database",
      removes: "the VM's name when a server is renamed",
      patches: [
        {
          file: "packages/programs/src/servers/update-server/plan.ts",
          find: 'if (!isEmptyDifference(configDifference({ name }, vm.config, false))) steps.push({ do: "rename" });',
          replace: "",
        },
      ],
      expects: /I3: the VM is called/,
    },
    {
      name: "lock-taken-for-dead",
      removes: "the search for the clone that holds a lock",
      patches: [
        {
          file: "packages/proxmox/src/clone-task.ts",
          find: "if (!isRunning(task) || !isOf(client.tokenId, task)) continue;",
          replace: "continue;",
        },
      ],
      expects: /was given up although nothing was wrong with it/,
    },
    {
      name: "open-by-default",
      removes: "that a firewall denies inbound traffic by default",
      patches: [
        {
          file: "packages/programs/src/firewalls/desired-firewall.ts",
          find: "const last = filter?.is_filtered === true ? [] : [allowAllInbound];",
          replace: "const last = [allowAllInbound];",
        },
        oneReader,
      ],
      expects: /I3: the VM lets in .*in ACCEPT any all, by default DROP/,
    },
    {
      name: "half-a-filter-taken-for-whole",
      removes: "that the filter is unknown after a failed job",
      patches: [
        {
          file: "apps/api/src/products/firewalls/settle.ts",
          find: "return job.epoch === 0 ? server.filter_applied : unknownFilter;",
          replace: "return server.filter_applied;",
        },
      ],
      expects: /model and API differ/,
    },
    {
      name: "half-a-filter-given-way",
      removes: "that the filter is unknown after a superseded job",
      patches: [
        {
          file: "apps/api/src/products/servers/preempt.ts",
          find: "await leaveFilter(tx, server, job);",
          replace: "",
        },
      ],
      expects: /model and API differ/,
    },
    {
      name: "no-epoch-test",
      removes: "the epoch test when a step is reported",
      patches: [
        {
          file: "apps/api/src/agent/report-step.ts",
          find: "if (job.epoch !== report.epoch) throw new StaleLease(job.id);",
          replace: "",
        },
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "and epoch = p_epoch and last_seq < p_seq",
          replace: "and last_seq < p_seq",
        },
      ],
      expects: /model and API differ/,
    },
    {
      name: "no-claim-id",
      removes: "the answer to a repeated claim",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: `where \${isOfRegion} and claim_id = p_claim_id and status = 'running'`,
          replace: `where \${isOfRegion} and claim_id = p_claim_id and status = 'none'`,
        },
      ],
      expects: /model and API differ/,
    },
  ],
  run: runRow,
};

async function runRow(run: RowRun): Promise<RowResult> {
  const bad: BadSeed[] = [];
  for (const { seed } of REGRESSIONS)
    bad.push(
      ...(await runSeeds({ first: seed, count: 1, mostBad: 1, badCount: newBadCount() }, () => {})).bad,
    );
  const conformance = await checkConformance(SEQUENCES[run.scale], run.seed, run.progress);
  const mostBad = MOST_BAD[run.scale];
  // A known violation needs no thousands of seeds to show it.
  const isBroken = bad.length > 0 || conformance.violations.length > 0;
  const count = isBroken && run.scale === "sample" ? 1 : SEEDS[run.scale];
  let saidAt = 0;
  const first = (run.seed % BASES) * SEEDS_OF_A_BASE;
  const seeds = await runInTwoThreads({ first, count, mostBad, badCount: newBadCount() }, (done) => {
    if (done - saidAt < 1_000) return;
    saidAt = done;
    run.progress(`${done} seeds`);
  });
  bad.push(...seeds.bad);
  return {
    cases: seeds.seeds + REGRESSIONS.length + conformance.sequences,
    violations: [...bad.flatMap(inWords), ...conformance.violations],
    recoverySeconds: seeds.recoverySeconds,
    figures: {
      ...figuresOf(seeds),
      "sequences played to the model and to the API": conformance.sequences,
      "calls in them": conformance.calls,
    },
  };
}

function inWords({ seed, violations }: BadSeed): string[] {
  return violations.map(
    (text) => `${text} (node_modules/.bin/node packages/battery/src/simulation/replay.ts ${seed})`,
  );
}

function figuresOf({ seeds, counts, repeated }: SeedsResult): Record<string, number> {
  return {
    "simulated seeds": seeds,
    "run twice with the same trace": repeated,
    jobs: counts.jobs,
    "agents killed": counts.crashes,
    "agents put to sleep": counts.sleeps,
    "calls to the API": counts.apiCalls,
    "of them lost, doubled or late": counts.apiFaults,
    "calls to the hypervisor": counts.hypervisorCalls,
    "of those lost, doubled or late": counts.hypervisorFaults,
    "tasks made to fail": counts.taskFaults,
    "reports of former holders refused": counts.refusedReports,
    "effects that arrived after their lease": counts.lateChanges,
    "servers these left with the wrong power or mark": counts.lateDrift,
    "machines that a late request made for a server that was gone": counts.lateClones,
    "machines made anew that a late request destroyed, and made once more": counts.lateDestroys,
    "jobs out of attempts": counts.exhausted,
  };
}
