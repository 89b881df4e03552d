import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import { repeatAtCertificates } from "../certificate-jobs/repeated-steps.ts";
import { endViolations, subjectFor, type Work } from "../job-kinds/course.ts";
import { cause, DETOURS, onDetour } from "../job-kinds/detours.ts";
import { runnerOfDoubledSteps } from "../job-kinds/doubled-steps.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { brokenInvariants, vmidOf } from "../job-kinds/scene.ts";
import { STEP_NAMES } from "../job-kinds/step-names.ts";
import { differences, worldStateOf } from "../job-kinds/world-state.ts";
import { repeatAtLoadBalancers } from "../load-balancer-jobs/repeated-steps.ts";
import { repeatAtNetworks } from "../network-jobs/repeated-steps.ts";
import { atEdge, inTurn } from "../network-jobs/without-edge.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

/** How often each course of each kind is gone, with each step applied once and with each applied twice. */
const REPEATS = { sample: 1, full: 3 };

export const row: Row = {
  id: "A2",
  title: "A step of a job that is applied twice has the same result as applied once.",
  minutes: 2,
  mutants: [
    {
      name: "clone-exists-is-failure",
      removes: "the second observation after a clone whose VM exists already",
      patches: [
        {
          file: "packages/programs/src/outcome.ts",
          find: "    ProxmoxConflict,\n    ProxmoxExists,",
          replace: "    ProxmoxConflict,",
        },
      ],
      expects: /ServerCreate .* with each step twice .*hypervisor_refused at clone/,
    },
    {
      name: "disk-grown-by",
      removes: "the comparison of a disk's size before it is changed",
      patches: [
        {
          file: "packages/proxmox/src/proxmox-hypervisor.ts",
          find: "if (present !== null && present !== undefined && present >= bytes) return;",
          replace: "if (present === bytes * 4) return;",
        },
        {
          file: "packages/proxmox/src/proxmox-hypervisor.ts",
          find: "size: renderSize(bytes), digest",
          replace: `size: ((present === bytes ? "+" : "") + renderSize(bytes)) as never, digest`,
        },
      ],
      expects: /I8 .*disk-resized|ServerCreate .*with each step twice leaves/,
    },
    {
      name: "shutdown-believed",
      removes: "the observation that a guest is off before it counts as rebooted",
      patches: [
        {
          file: "packages/programs/src/servers/power-server/plan.ts",
          find: "return wasOff ? [] : off(payload, vm);",
          replace: 'return wasOff ? [] : [...off(payload, vm), note, { do: "start" }];',
        },
      ],
      expects: /ServerPower is done and has not started its guest/,
    },
    {
      name: "state-not-compared",
      removes: "the comparison of a machine's state with the wanted one",
      patches: [
        {
          file: "packages/programs/src/load-balancers/look-at-machine.ts",
          find: "const isApplied = planGuestState(wanted, answer.state).length === 0;",
          replace: "const isApplied = planGuestState(wanted, answer.state).length < 3;",
        },
      ],
      expects: /machine \d has generation \S+, not \d+/,
    },
  ],
  run: (run) =>
    inTurn(
      () => repeatAtServers(run),
      () => repeatAtLoadBalancers(run),
      () => repeatAtCertificates(run),
      () => atEdge(run, (testbed) => repeatAtNetworks(run, testbed)),
    ),
};

function repeatAtServers(run: RowRun): Promise<RowResult> {
  return LocalScene.use(async (scene) => {
    const violations: string[] = [];
    const work: Work = (subject, kind) => scene.work(subject, kind);
    let cases = 0;
    let steps = 0;
    for (const kind of SERVER_JOB_KINDS) {
      const applied = new Set<string>();
      const courses = Array.from({ length: REPEATS[run.scale] }, () => DETOURS[kind]).flat();
      for (const detour of courses) {
        const once = await subjectFor(scene, kind, work);
        await cause(scene, once, kind, detour);
        await scene.work(once, kind, {
          isPrivileged: detour.isPrivileged,
          onEvent: onDetour(scene, detour, await vmidOf(scene, once)),
        });
        const twice = await subjectFor(scene, kind, work);
        await cause(scene, twice, kind, detour);
        const doubled = runnerOfDoubledSteps(kind, (name) => {
          applied.add(name);
          steps += 1;
        });
        await scene.work(twice, kind, {
          run: doubled,
          isPrivileged: detour.isPrivileged,
          onEvent: onDetour(scene, detour, await vmidOf(scene, twice)),
        });
        cases += 1;
        violations.push(
          ...(await endViolations(scene, once, kind)),
          ...(detour.startsGuest ? startViolations(scene, await vmidOf(scene, once), kind) : []),
          ...(await endViolations(scene, twice, kind)).map((text) =>
            text.replace(twice.server, `${twice.server} with each step twice`),
          ),
          ...differences(await worldStateOf(scene, twice), await worldStateOf(scene, once)).map(
            (text) => `${kind} ${detour.name} with each step twice leaves ${text}`,
          ),
          ...(await brokenInvariants(scene)),
        );
      }
      const missing = STEP_NAMES[kind].filter((name) => !applied.has(name));
      if (missing.length > 0) violations.push(`${kind}: nothing led to ${missing.join(", ")}`);
      run.progress(`${kind}: ${[...applied].join(", ")}`);
    }
    return {
      cases,
      violations: [...new Set(violations)],
      figures: { kinds: SERVER_JOB_KINDS.length, "steps applied twice": steps },
    };
  });
}

/** Once when it was created, and once by the job. */
function startViolations({ lab }: LocalScene, vmid: number, kind: string): string[] {
  return (lab.effects(vmid)["vm-started"] ?? 0) > 1 ? [] : [`${kind} is done and has not started its guest`];
}
