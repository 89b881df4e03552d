import { adoptionViolations } from "../drift/adoptions.ts";
import { manualChangeViolations } from "../drift/manual-change-violations.ts";
import { MANUAL_CHANGES } from "../drift/manual-changes.ts";
import { inWords, RegionScanner } from "../drift/region-scanner.ts";
import { subjectFor, type Work } from "../job-kinds/course.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { vmidOf } from "../job-kinds/scene.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** How often everything is done, and scans of an undisturbed region. */
const SCALES = { sample: { rounds: 1, clean: 6 }, full: { rounds: 3, clean: 120 } } as const;

export const row: Row = {
  id: "B7",
  title:
    "Every manual change of VMs is reported within three scans with its kind, nothing is changed automatically, and one operation reconciles it.",
  minutes: 2,
  mutants: [
    {
      name: "public-interface-not-wanted",
      removes: "the public interface from what a server's VM is compared with",
      patches: [
        {
          file: "apps/api/src/products/inventory/find-drift.ts",
          find: "interfaces: [...inside, ...publicInterface(holder, region)],",
          replace: "interfaces: publicInterface(holder, region).length < 0 ? [] : inside,",
        },
      ],
      expects: /in an untouched region.*interface 1/,
    },
    {
      name: "unknown-interfaces-not-told",
      removes: "the check for unknown interfaces",
      patches: [
        {
          file: "packages/rules/src/inventory/differences.ts",
          find: "if (!wanted.interfaces.some((each) => each.position === position))",
          replace: "if (wanted.interfaces.some((each) => each.position === -position - 1))",
        },
      ],
      expects: /an interface that Kule does not know.*is told as nothing/,
    },
    {
      name: "extra-addresses-allowed",
      removes: "the check for additional addresses that a guest may use",
      patches: [
        {
          file: "packages/rules/src/inventory/differences.ts",
          find: "if (isMissing || isLoose)",
          replace: "if (isMissing || (isLoose && position > 9))",
        },
      ],
      expects: /allowed another's address.*is told as nothing/,
    },
    {
      name: "marker-believed",
      removes: "the comparison of a VM's marker with the server that has its number",
      patches: [
        {
          file: "packages/rules/src/inventory/classify-guest.ts",
          find: "      marker.serverId === holder.id &&\n",
          replace: "",
        },
      ],
      expects: /marked for another server.*is told as nothing/,
    },
    {
      name: "pool-not-wanted",
      removes: "the pool from what a server's VM is compared with",
      patches: [
        {
          file: "packages/rules/src/inventory/differences.ts",
          find: "if (wanted.pool !== null && seen.pool !== undefined && seen.pool !== wanted.pool)",
          replace: 'if (wanted.pool !== null && seen.pool !== undefined && wanted.pool === "")',
        },
      ],
      expects: /taken out of its pool.*is told as nothing/,
    },
    {
      name: "links-changed-while-connected",
      removes: "the disconnection of an interface while it is reconciled",
      patches: [
        {
          file: "packages/programs/src/servers/reconcile-server/links.ts",
          find: "change[key] = isRight ? rightText : closed(right);",
          replace: 'change[key] = isRight || key !== "" ? rightText : closed(right);',
        },
      ],
      expects: /moved to another VLAN.*was connected 0 ms after it was changed/,
    },
    {
      name: "links-opened-at-once",
      removes: "the wait for a round of the hypervisor's firewall before an interface is connected",
      patches: [
        {
          file: "packages/programs/src/servers/reconcile-server/program.ts",
          find: "      await waitForFirewall(world, effect);\n      await write(config, job, world, effect);",
          replace: "      await write(config, job, world, effect);",
        },
      ],
      expects: /was connected \d+ ms after it was changed/,
    },
    {
      name: "drift-of-the-dead-queued",
      removes: "the refusal to reconcile a missing VM",
      patches: [
        {
          file: "packages/rules/src/servers/reconcile.ts",
          find: 'if (drift?.kind === "missing")',
          replace: 'if (drift?.kind === "extra")',
        },
      ],
      expects: /A VM deleted: to put it right is answered with/,
    },
    {
      name: "pool-not-joined",
      removes: "the pool from what an import sets",
      patches: [
        {
          file: "packages/programs/src/servers/adopt-server/plan.ts",
          find: "want.pool === null || vm.pool === want.pool ? []",
          replace: "want.pool === null || vm.pool !== want.name ? []",
        },
      ],
      expects: /a VM that was taken over: .*pool/,
    },
    {
      name: "pool-not-left",
      removes: "leaving the pool when an import was cancelled",
      patches: [
        {
          file: "packages/programs/src/servers/destroy-server/plan.ts",
          find: '...(pool === null ? [] : [{ do: "leave-pool", pool } as const])',
          replace: '...(pool === null || pool !== "" ? [] : [{ do: "leave-pool", pool } as const])',
        },
      ],
      expects: /an import that was called off: .*left in the pool/,
    },
    {
      name: "marks-left-behind",
      removes: "removing the marks of a VM whose import was cancelled",
      patches: [
        {
          file: "packages/programs/src/servers/destroy-server/program.ts",
          find: "if (wasNeverOurs(job)) return lookForMarks(job, world, effect);",
          replace: 'if (wasNeverOurs(job)) return { state: "absent", leftovers: [] };',
        },
      ],
      expects: /an import that was called off.*extra/,
    },
  ],
  run: (run) => LocalScene.use((scene) => rowOf(scene, run)),
};

async function rowOf(scene: LocalScene, run: RowRun) {
  const { rounds, clean } = SCALES[run.scale];
  const testScanner = new RegionScanner(scene);
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const violations: string[] = [];
  const seconds: number[] = [];
  /** Numbers of servers whose VMs are permanently gone: that is reported forever. */
  const lost = new Set<number>();
  let cases = 0;
  // With private interfaces only, and never changed manually.
  await subjectFor(scene, "ServerStop", work);
  for (let round = 0; round < rounds && violations.length === 0; round += 1) {
    const { server, organisation, ...rest } = await subjectFor(scene, "PublicIpDetach", work);
    const vmid = await vmidOf(scene, { server, organisation, ...rest });
    for (let look = 0; look < clean / rounds; look += 1) await testScanner.look();
    const untouched = (await testScanner.told()).filter((each) => !lost.has(each.vmid));
    if (untouched.length > 0) violations.push(`in an untouched region is told: ${inWords(untouched)}`);
    for (const manualChange of violations.length > 0 ? [] : MANUAL_CHANGES) {
      const began = performance.now();
      const found = await manualChangeViolations(
        scene,
        testScanner,
        { server, organisation, vmid },
        manualChange,
        lost,
      );
      violations.push(...found.map((text) => `A VM ${manualChange.name}: ${text}`));
      seconds.push((performance.now() - began) / 1000);
      cases += 1;
    }
    lost.add(vmid);
    run.progress(`${cases} meddlings in ${testScanner.looks} looks`);
  }
  const adoptions = await adoptionViolations(scene, testScanner, lost);
  violations.push(...adoptions, ...(await worldViolations(scene.ownerUrl, "at the end")));
  return {
    cases: cases + 2,
    violations,
    recoverySeconds: seconds,
    figures: { "kinds of meddling": MANUAL_CHANGES.length, looks: testScanner.looks },
  };
}
