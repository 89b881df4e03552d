import { probePostgresTools } from "@kule/testing/rig/restorable-postgres";
import { viewOfControlServer } from "@kule/testing/world-check/region-invariants";
import { inParallel } from "../races/in-parallel.ts";
import { worldViolations } from "../races/world-violations.ts";
import { adoptLost } from "../restore/adopt-lost.ts";
import { type Lost, loseOperations } from "../restore/lost-operations.ts";
import { type Answer, RestoredWorld, until } from "../restore/restored-world.ts";
import { usedTwice } from "../restore/used-twice.ts";
import { divergences, untilListed } from "../restore/what-differs.ts";
import type { Row, RowRun } from "../row.ts";

/** New servers after the restore; every fourth gets a public address. */
const CREATES = { sample: 12, full: 50 } as const;

export const row: Row = {
  id: "H2",
  title:
    "After a restore to before the last operations every divergence is listed, nothing is destroyed, and no number or address is used twice.",
  minutes: 2,
  needs: { part: "postgresql", probe: probePostgresTools },
  mutants: [
    {
      name: "epochs-go-back",
      removes: "the jump of every job's epoch",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "greatest(epoch, coalesce((select max(epoch_floor) from restore), 0)) + 1",
          replace: "epoch + 1",
        },
      ],
      expects: /is given out under epoch \d+, which its agent of before has/,
    },
    {
      name: "allocated-before-the-scan",
      removes: "the wait for a scan of the region",
      patches: [
        {
          file: "apps/api/src/restored/mark-restored.ts",
          find: "restore_scanned_at: null,",
          replace: "restore_scanned_at: at,",
        },
      ],
      expects: /before the region was scanned .* was answered 20[12]/,
    },
    {
      name: "numbers-not-held",
      removes: "holding back what unknown VMs use",
      patches: [
        {
          file: "apps/api/src/products/inventory/held-vms.ts",
          find: "found.flatMap(({ held }) => held),",
          replace: "found.flatMap(() => []),",
        },
      ],
      expects: /is used twice|VLAN \d+ .* was given/,
    },
    {
      name: "removal-does-not-wait",
      removes: "the wait of removals for the end of the restore",
      patches: [
        {
          file: "apps/api/src/worker/expire-removal-buffer.ts",
          find: "if (!region.isDue || region.waitsForRestore) return false;",
          replace: "if (!region.isDue) return false;",
        },
      ],
      expects: /VM \d+ of .*buffered.* (is gone|was destroyed)/,
    },
    {
      name: "rebuilt-once-more",
      removes: "the end of a rebuild that was under way",
      patches: [
        {
          file: "apps/api/src/restored/what-becomes-of-jobs.ts",
          find: 'ServerRebuild: "ends",',
          replace: 'ServerRebuild: "again",',
        },
      ],
      expects: /VM \d+ of .*rebuilt.* (is gone|was destroyed)/,
    },
  ],
  async run(run) {
    const world = await RestoredWorld.open(CREATES[run.scale]);
    try {
      return await rowOf(world, run);
    } finally {
      await world.end();
    }
  },
};

async function rowOf(world: RestoredWorld, run: RowRun) {
  const lost = await loseOperations(world);
  run.progress(`${lost.operations} operations after ${lost.moment}`);
  const began = performance.now();
  const restoredAt = Date.now();
  await world.restoreTo(lost.moment);
  const violations = await allocatedUnscanned(world);
  world.startAgent();
  await until("the region to be scanned", async () => {
    const { regions } = await world.operator.must("GET", "/operator/restore");
    return regions[0]?.state === "waiting" ? null : true;
  });
  const seconds = (performance.now() - began) / 1000;
  run.progress("restored and scanned");
  await untilListed(world, lost);
  const told = await divergences(world, lost);
  violations.push(...told.wrong);
  violations.push(...(await epochsOf(world, lost)));
  const creates = await createMore(world, CREATES[run.scale]);
  run.progress(`${creates} more creates`);
  violations.push(...(await vlansGiven(world, lost)), ...usedTwice(await world.vms()));
  await endBuffer(world, lost);
  violations.push(...(await destroyed(world, lost)));
  // Without these it is certain that the rest cannot go as it should.
  if (violations.length === 0) {
    violations.push(...(await adoptLost(world, lost)), ...usedTwice(await world.vms()));
    await world.endAgent();
    const { journal, ...view } = await viewOfControlServer("lab1", world.region.labControlUrl);
    // What was done before is of jobs that the records do not have.
    const later = { ...view, journal: journal.filter(({ at }) => at > restoredAt) };
    violations.push(
      ...(await worldViolations(world.postgres.database.ownerUrl, "after the adoption", [later])),
    );
  }
  return {
    cases: lost.operations + creates,
    violations,
    recoverySeconds: [seconds],
    figures: {
      "divergences found": told.found,
      "operations lost": lost.operations,
      "creates afterwards": creates,
    },
  };
}

/** No agent runs yet, so there is no scan. */
async function allocatedUnscanned(world: RestoredWorld): Promise<string[]> {
  const acme = world.of("acme");
  const { items } = await acme.must("GET", "/networks");
  const asked: [string, Answer][] = [
    [
      "a create",
      await acme.ask("POST", "/servers", {
        name: "early",
        region: "lab1",
        image: "ubuntu-24.04",
        package: "s",
      }),
    ],
    ["a public IP", await acme.ask("POST", "/public-ips", { region: "lab1" })],
    ["a subnet", await acme.ask("POST", `/networks/${items[0].id}/subnets`, { name: "early", tier: "app" })],
  ];
  return asked.flatMap(([what, { status, body }]) =>
    status === 409 && body.precondition?.name === "region_scanned"
      ? []
      : [
          `before the region was scanned ${what} was answered ${status}: ${JSON.stringify(body).slice(0, 300)}`,
        ],
  );
}

/** The job that waited at the moment was claimed after it: whoever has it from then holds nothing now. */
async function epochsOf(world: RestoredWorld, { pending }: Lost): Promise<string[]> {
  await world.of("acme").untilDone(pending.id);
  const [row] = await world.rows("select epoch from job where id = $1", [pending.id]);
  return row.epoch > pending.epoch
    ? []
    : [`job ${pending.id} is given out under epoch ${row.epoch}, which its agent of before has`];
}

async function createMore(world: RestoredWorld, count: number): Promise<number> {
  await inParallel(count, 4, async (index) => {
    const more = index % 4 === 0 ? { public_ip: "auto" } : {};
    await world.create(index % 3 === 0 ? "beta" : "acme", `new-${index}`, more);
  });
  return count;
}

/** The network that was lost has its servers in a VLAN of its own still. */
async function vlansGiven(world: RestoredWorld, { vlan }: Lost): Promise<string[]> {
  const acme = world.of("beta");
  const { network } = await acme.must("POST", "/networks", { name: "newer", region: "lab1" });
  for (const name of ["one", "two", "three"])
    await acme.must("POST", `/networks/${network.id}/subnets`, { name, tier: "app" });
  const rows = await world.rows(
    "select subnet_id from region_vlan where vlan = $1 and subnet_id is not null",
    [vlan],
  );
  return rows.map(({ subnet_id }) => `VLAN ${vlan} of a lost network was given to ${subnet_id}`);
}

/** The removal buffer of a server whose deletion was cancelled after the moment, and all that the worker does then. */
async function endBuffer(world: RestoredWorld, { servers }: Lost): Promise<void> {
  const id = servers.get("buffered")?.id ?? "";
  const purge_at = "clock_timestamp() - interval '1 second'";
  const key = `h2:${id}`;
  const [row] = await world.rows(
    `update server set purge_at = ${purge_at} where id = $1 returning organisation_id`,
    [id],
  );
  const payload = JSON.stringify({ organisation_id: row.organisation_id, server_id: id });
  await world.rows("select kule_task_add('expire_removal_buffer', $1::json, now(), $2)", [payload, key]);
  await until("the worker to look at the removal buffer", async () => {
    const left = await world.rows("select 1 from graphile_worker._private_jobs where key = $1", [key]);
    return left.length === 0 ? true : null;
  });
  // Whatever it has queued is done now.
  await until("no job to be open", async () => {
    const open = await world.rows("select 1 from job where status in ('queued', 'running') limit 1");
    return open.length === 0 ? true : null;
  });
  await world.rows(
    "update server set purge_at = clock_timestamp() + interval '1 hour' where id = $1 and status = 'pending_deletion'",
    [id],
  );
}

async function destroyed(world: RestoredWorld, lost: Lost): Promise<string[]> {
  const now = new Map((await world.vms()).map((vm) => [vm.vmid, vm]));
  const after = world.destroys();
  const nameOf = (vmid: number) =>
    [...lost.servers].find(([, server]) => server.vmid === vmid)?.[0] ?? "nobody known";
  return lost.vms.flatMap(({ vmid, description }) => {
    const what = `VM ${vmid} of ${nameOf(vmid)}`;
    if (now.get(vmid)?.description !== description) return [`${what} is gone, or another's`];
    return (after.get(vmid) ?? 0) > (lost.destroys.get(vmid) ?? 0) ? [`${what} was destroyed`] : [];
  });
}
