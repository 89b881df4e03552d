import { adoptionViolations } from "../drift/adoptions.ts";
import { MEDDLINGS } from "../drift/meddling.ts";
import { meddlingViolations } from "../drift/meddling-violations.ts";
import { inWords, RegionLooker } from "../drift/region-looker.ts";
import { subjectFor, type Work } from "../job-kinds/course.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { vmidOf } from "../job-kinds/scene.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** How often everything is done, and looks at a region in which nobody does anything. */
const SCALES = { sample: { rounds: 1, clean: 6 }, full: { rounds: 3, clean: 120 } } as const;

export const row: Row = {
  id: "B7",
  title:
    "Whatever somebody does to VMs behind Kule's back is told within three looks for what it is, nothing is done about it, and one operation puts it right.",
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
      removes: "the look at interfaces that nobody asked for",
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
      removes: "the look at addresses that a guest may use besides its own",
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
      removes: "the cable's being out while an interface is put right",
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
      removes: "the refusal to put right what is gone",
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
      removes: "the pool from what a taking over brings",
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
      removes: "leaving the pool when a taking over was called off",
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
      removes: "taking the marks off a VM whose taking over was called off",
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
  const looker = new RegionLooker(scene);
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const violations: string[] = [];
  const seconds: number[] = [];
  /** Numbers of servers whose VMs are gone for good: that is told for ever. */
  const lost = new Set<number>();
  let cases = 0;
  // With private interfaces only, and nobody touches it.
  await subjectFor(scene, "ServerStop", work);
  for (let round = 0; round < rounds && violations.length === 0; round += 1) {
    const { server, organisation, ...rest } = await subjectFor(scene, "PublicIpDetach", work);
    const vmid = await vmidOf(scene, { server, organisation, ...rest });
    for (let look = 0; look < clean / rounds; look += 1) await looker.look();
    const untouched = (await looker.told()).filter((each) => !lost.has(each.vmid));
    if (untouched.length > 0) violations.push(`in an untouched region is told: ${inWords(untouched)}`);
    for (const meddling of violations.length > 0 ? [] : MEDDLINGS) {
      const began = performance.now();
      const found = await meddlingViolations(scene, looker, { server, organisation, vmid }, meddling, lost);
      violations.push(...found.map((text) => `A VM ${meddling.name}: ${text}`));
      seconds.push((performance.now() - began) / 1000);
      cases += 1;
    }
    lost.add(vmid);
    run.progress(`${cases} meddlings in ${looker.looks} looks`);
  }
  const adoptions = await adoptionViolations(scene, looker, lost);
  violations.push(...adoptions, ...(await worldViolations(scene.ownerUrl, "at the end")));
  return {
    cases: cases + 2,
    violations,
    recoverySeconds: seconds,
    figures: { "kinds of meddling": MEDDLINGS.length, looks: looker.looks },
  };
}
