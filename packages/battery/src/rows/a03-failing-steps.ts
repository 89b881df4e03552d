import type { ServerJobKind } from "@kule/contract/schemas";
import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import { failuresAtCertificates } from "../certificate-jobs/failing-keys.ts";
import { RegionScanner } from "../drift/region-scanner.ts";
import { describeJob, remains, subjectFor, type Work } from "../job-kinds/course.ts";
import { DETOURS, type Detour } from "../job-kinds/detours.ts";
import { FAILURES, type Failure, failingCase, stepsOf } from "../job-kinds/failing-steps.ts";
import { grownDiskViolations } from "../job-kinds/grown-disks.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { removeServer } from "../job-kinds/remove-server.ts";
import { SCENARIOS } from "../job-kinds/scenarios.ts";
import { brokenInvariants, type Subject, vmidOf } from "../job-kinds/scene.ts";
import { STEP_NAMES } from "../job-kinds/step-names.ts";
import { failuresAtLoadBalancers } from "../load-balancer-jobs/failing-machines.ts";
import { failuresAtNetworks } from "../network-jobs/faulty-edge.ts";
import { atEdge, inTurn } from "../network-jobs/without-edge.ts";
import { uncheckedCommits } from "../pools/unchecked-commits.ts";
import { shuffled } from "../races/shuffled.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

/** How many steps of each kind fail in a sample, each in one way. */
const SAMPLED_STEPS = 2;

export const row: Row = {
  id: "A3",
  title:
    "A step that fails permanently ends its job, which names the step, and deleting the server then releases everything.",
  minutes: 10,
  mutants: [
    {
      name: "nothing-released",
      removes: "the release of a destroyed server's allocations, and the refusal of such a commit",
      patches: [
        uncheckedCommits,
        {
          file: "apps/api/src/products/servers/settle.ts",
          find: "if (settled.releasesAllocations) {",
          replace: "if (settled.releasesAllocations && server.vcpu === 0) {",
        },
      ],
      expects: /I4 no address, VM number or interface of a server that is gone|is still used/,
    },
    {
      name: "wrong-step-named",
      removes: "the name of the step that failed",
      patches: [
        {
          file: "packages/programs/src/run-program.ts",
          find: "error.step === null) error.step = step;",
          replace: 'error.step === null) error.step = "verify";',
        },
      ],
      expects: /names verify as the step that failed/,
    },
    {
      name: "grown-disk-not-told",
      removes: "the disk's size from what a failed resize reads back",
      patches: [
        {
          file: "packages/programs/src/servers/existing-server.ts",
          find: "...(bytes === null ? {} : { disk_bytes: bytes }),",
          replace: "...(bytes === null || bytes > 0 ? {} : { disk_bytes: bytes }),",
        },
      ],
      expects: /a resize refused later: its disk has \d+ GB and is recorded with/,
    },
    {
      name: "grown-disk-not-followed",
      removes: "the detection of disks that have grown outside of Kule",
      patches: [
        {
          file: "apps/api/src/products/inventory/observe-servers.ts",
          find: "if (disk_gb === null || server.observed_generation === 0) return server;",
          replace: "if (disk_gb === null || server.observed_generation >= 0) return server;",
        },
      ],
      expects: /a resize never read back: its disk has \d+ GB and is recorded with/,
    },
    {
      name: "grown-disk-not-counted",
      removes: "the split of usage when a failed resize has grown the disk",
      patches: [
        {
          file: "packages/rules/src/servers/settle.ts",
          find: 'outcome.status === "succeeded" || facts.diskHasGrown;',
          replace: 'outcome.status === "succeeded";',
        },
      ],
      expects: /a resize refused later: its disk has \d+ GB and \d+ are counted/,
    },
    {
      name: "sealed-to-a-stranger",
      removes: "the comparison of the key that a payload names with the agent's own",
      patches: [
        {
          file: "packages/programs/src/certificates/program.ts",
          find: "    requireOwn(() => openSecret(sealed, context));\n",
          replace: "    if (sealed === context) requireOwn(() => openSecret(sealed, context));\n",
        },
      ],
      expects: /a certificate with an agent of another key: the job is succeeded/,
    },
    {
      name: "failed-request-not-told",
      removes: "the failed attempt of a certificate whose key the region could not make",
      patches: [
        {
          file: "apps/api/src/products/certificates/settle.ts",
          find: "  if (request === null)\n    return failAttempt(",
          replace: '  if (request === null && order.state !== "requesting")\n    return failAttempt(',
        },
        {
          file: "apps/api/src/products/certificates/settle.ts",
          find: "  clearWait(tx, certificate);\n",
          replace: "  if (request === null) return;\n  clearWait(tx, certificate);\n",
        },
      ],
      expects: /a certificate with .*: it says null/,
    },
  ],
  run: (run) =>
    inTurn(
      () => failAtServers(run),
      () => failuresAtLoadBalancers(run),
      () => failuresAtCertificates(run),
      () => atEdge(run, (testbed) => failuresAtNetworks(run, testbed)),
    ),
};

function failAtServers(run: RowRun): Promise<RowResult> {
  return LocalScene.use(async (scene) => {
    const work: Work = (subject, kind) => scene.work(subject, kind);
    const violations: string[] = [];
    const testScanner = new RegionScanner(scene);
    let cases = 0;
    const planned: { kind: ServerJobKind; detour: Detour; step: string; failure: Failure }[] = [];
    for (const kind of SERVER_JOB_KINDS) {
      const ofKind: typeof planned = [];
      const known = new Set<string>();
      for (const detour of DETOURS[kind]) {
        const steps = await stepsOf(scene, kind, detour, work);
        for (const { name, hasTask } of steps) {
          if (known.has(name)) continue;
          known.add(name);
          const possible = FAILURES.filter(({ needsTask }) => hasTask || !needsTask);
          const chosen =
            run.scale === "full" ? possible : [possible[Math.floor(run.random() * possible.length)]];
          for (const failure of chosen)
            if (failure !== undefined) ofKind.push({ kind, detour, step: name, failure });
        }
      }
      planned.push(...(run.scale === "full" ? ofKind : shuffled(ofKind, run.random).slice(0, SAMPLED_STEPS)));
      run.progress(`${kind}: ${[...known].join(", ")}`);
      const missing = STEP_NAMES[kind].filter((name) => !known.has(name));
      if (missing.length > 0) violations.push(`${kind}: nothing leads to ${missing.join(", ")}`);
    }
    for (const { kind, detour, step, failure } of planned) {
      const what = `${kind} ${detour.name}, ${failure.name} at ${step}`;
      const subject = await subjectFor(scene, kind, work);
      const found = await failingCase(scene, subject, { kind, detour, step, failure });
      // A region that could not be read has not reported what the job had done until then; its next scan
      // does.
      if (step === "verify") {
        scene.lab.lab.faults.clear();
        await testScanner.look();
      }
      found.push(...(await brokenInvariants(scene)));
      scene.lab.lab.faults.clear();
      scene.lab.lab.faults.tasks.clear();
      const { isPrivileged, takesMarker } = detour;
      if (takesMarker) {
        await SCENARIOS.ServerReconcile.cause(scene, subject);
        const again = await scene.work(subject, "ServerReconcile");
        if (again.status !== "succeeded") found.push(`the next reconcile ${describeJob(again)}`);
      }
      const remove: Work = (each, of) => scene.work(each, of, { isPrivileged });
      const left = await removeServer(scene, subject, remove);
      if (left !== null) found.push(`the server cannot be removed: ${left}`);
      if (SCENARIOS[kind].staysWhenRemoved) found.push(...(await takeAway(scene, subject)));
      found.push(...(await remains(scene, subject)), ...(await brokenInvariants(scene)));
      violations.push(...found.map((text) => `${what}: ${text}`));
      cases += 1;
      if (cases % 10 === 0) run.progress(`${cases} of ${planned.length} failures`);
    }
    violations.push(...(await grownDiskViolations(scene, testScanner, work)));
    return {
      cases,
      violations,
      figures: { kinds: SERVER_JOB_KINDS.length, "steps that failed": cases },
    };
  });
}

/** A VM that was never adopted has outlived its server; its owner removes it now. */
async function takeAway(scene: LocalScene, subject: Subject): Promise<string[]> {
  const vmid = await vmidOf(scene, subject);
  if (!(await scene.vms()).some((vm) => vm.vmid === vmid))
    return [`VM ${vmid}, which was never taken over, is gone`];
  await scene.changeOutsideKule("deleteVm", vmid);
  return [];
}
