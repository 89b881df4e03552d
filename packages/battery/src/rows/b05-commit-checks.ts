import pg from "pg";
import { attempts, legal } from "../commit-checks/attempts.ts";
import { inScene, openScene, type Scene } from "../commit-checks/scene.ts";
import { shuffled } from "../races/shuffled.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Mutant, Row, RowRun } from "../row.ts";

const file = "packages/database/src/migrations/0001-baseline/server-checks.ts";
const reservationFile = "packages/database/src/migrations/0001-baseline/address-checks.ts";
const networkFile = "packages/database/src/migrations/0001-baseline/network-checks.ts";
const gatewayFile = "packages/database/src/migrations/0001-baseline/gateway-checks.ts";
/** The check finds nothing, whatever there is. */
const blind = (
  name: string,
  removes: string,
  find: string,
  replace: string,
  expects: RegExp,
  of = file,
): Mutant => ({
  name,
  removes,
  patches: [{ file: of, find, replace }],
  expects,
});

export const row: Row = {
  id: "B5",
  title: "No transaction commits an address without a job, or a job without its allocation",
  minutes: 0.3,
  mutants: [
    blind(
      "servers-not-kept",
      "the look at a server's allocations and jobs at COMMIT",
      "if v_problem is not null then",
      "if false then",
      /a create .*(job|ends|waiting) .*was committed|a create without .* was committed/,
    ),
    blind(
      "numbers-not-owned",
      "the look at who has a VM number at COMMIT",
      "if tg_op <> 'DELETE' and new.state = 'used' then",
      "if false then",
      /a VM number .* was committed/,
    ),
    blind(
      "jobs-not-owned",
      "the look at whom a job is for at COMMIT",
      "if new.status in ('queued', 'running') then",
      "if false then",
      /a job (for|in) .* was committed/,
    ),
    blind(
      "subnets-not-kept",
      "the look at a subnet's VLAN at COMMIT",
      "create constraint trigger subnet_kept after insert on subnet deferrable initially deferred",
      "create constraint trigger subnet_kept after insert on subnet deferrable initially deferred for each row when (false) execute function kule_subnet_at_commit(); create constraint trigger subnet_unkept after insert on token deferrable initially deferred",
      /a subnet without a VLAN was committed/,
      networkFile,
    ),
    {
      name: "reservations-not-kept",
      removes: "the check of a reservation's address at COMMIT",
      patches: [{ file: reservationFile, find: "if v_problem is not null then", replace: "if false then" }],
      expects: /a reservation (without|whose|of) .* was committed/,
    },
    {
      name: "kept-for-nobody",
      removes: "the check for reserved addresses without a reservation at COMMIT",
      patches: [
        {
          file: reservationFile,
          find: "and a.state = 'reserved' and a.reservation_id is null",
          replace: "and a.state = 'reserved' and a.reservation_id is null and false",
        },
      ],
      expects:
        /(an address that is kept for nobody|a reserved address that is nobody's any more) was committed/,
    },
    blind(
      "networks-not-kept",
      "the look at the job of a network that is on its way at COMMIT",
      "if v_problem is not null then",
      "if false then",
      /a (network|subnet|new network|new subnet) (that|whose) .*job.* was committed/,
      networkFile,
    ),
    blind(
      "network-jobs-not-owned",
      "the look at which network a job is for at COMMIT",
      "perform kule_refuse_commit('job_owned', 'job ' || new.id || ' is for no network of its organisation and region');",
      "null;",
      /a job .* network.* was committed/,
      networkFile,
    ),
    blind(
      "networks-gone-under-their-jobs",
      "the look at the jobs of a network that is gone at COMMIT",
      "perform kule_refuse_commit('job_owned', 'network ' || old.id || ' is gone and has an open job');",
      "null;",
      /the end of a network whose job waits was committed/,
      networkFile,
    ),
    blind(
      "subnets-not-open",
      "the look at whether a subnet is going at COMMIT",
      "where u.id = v_row ->> 'subnet_id' and u.status = 'deleting'",
      "where u.id = v_row ->> 'subnet_id' and u.status = 'gone'",
      /a (server in|firewall attached to|rule about) a subnet that is going was committed/,
      networkFile,
    ),
    blind(
      "gateways-not-kept",
      "the look at a gateway's address, job and subnets at COMMIT",
      "if v_problem is not null then",
      "if false then",
      /a gateway (that|whose|without) .* was committed/,
      gatewayFile,
    ),
    blind(
      "forwards-not-kept",
      "the look at where a forwarded port leads at COMMIT",
      "perform kule_keep_port_forwards(new.organisation_id, new.subnet_id, new.target_address);",
      "null;",
      /a port that leads to (another server|nobody) was committed/,
      gatewayFile,
    ),
    blind(
      "forwarded-addresses-not-kept",
      "the look at ports that lead to an address which is given back at COMMIT",
      "perform kule_keep_port_forwards(new.organisation_id, new.subnet_id, new.address);",
      "null;",
      /a destroy that keeps the port of its server was committed/,
      gatewayFile,
    ),
  ],

  async run(run: RowRun) {
    const scene = await openScene();
    const violations: string[] = [];
    const counts = { cases: 0, atStatement: 0, atCommit: 0 };
    const api = new pg.Client({ connectionString: scene.world.world.database.apiUrl });
    try {
      await api.connect();
      // With the organisation set, as requests run, and without, as agents' calls and the worker run.
      for (const organisation of [scene.ids.org, null])
        for (const attempt of shuffled(attempts, run.random)) {
          const outcome = await transact(api, inScene(attempt.sql, scene.ids), organisation, "commit");
          counts.cases += 1;
          if (outcome === "committed") violations.push(`${attempt.what} was committed`);
          else {
            counts[outcome.at] += 1;
            const said = `${outcome.constraint} ${outcome.message}`;
            if (!new RegExp(attempt.breaks).test(said))
              violations.push(`${attempt.what} was refused for another reason: ${said}`);
          }
        }
      run.progress(`${counts.cases} attempts: ${counts.atCommit} refused at COMMIT`);
      for (const { what, sql } of shuffled(legal, run.random)) {
        // Checked as COMMIT would, and undone, so that each finds the same scene.
        const outcome = await transact(api, inScene(sql, scene.ids), scene.ids.org, "check");
        counts.cases += 1;
        if (outcome !== "committed")
          violations.push(`${what}, which is whole, was refused: ${outcome.message}`);
      }
      violations.push(...(await ordinaryLife(scene)));
      violations.push(...(await worldViolations(scene.world.world.database.ownerUrl, "at the end")));
      if (attempts.length < 75) violations.push(`only ${attempts.length} attempts are known`);
      return {
        cases: counts.cases,
        violations,
        figures: {
          "refused at COMMIT": counts.atCommit,
          "refused at once": counts.atStatement,
          "whole changes that passed": legal.length,
        },
      };
    } finally {
      await api.end();
      await scene.world.close();
    }
  },
};

type Refused = {
  readonly at: "atStatement" | "atCommit";
  readonly constraint: string;
  readonly message: string;
};

/** One transaction as the API's role; `check` runs the checks of COMMIT and rolls back. */
async function transact(
  api: pg.Client,
  sql: string,
  organisation: string | null,
  end: "commit" | "check",
): Promise<"committed" | Refused> {
  let at: Refused["at"] = "atStatement";
  try {
    await api.query("begin");
    if (organisation !== null)
      await api.query("select set_config('app.organisation', $1, true)", [organisation]);
    await api.query(sql);
    at = "atCommit";
    await api.query(end === "commit" ? "commit" : "set constraints all immediate; rollback");
    return "committed";
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    await api.query("rollback");
    return { at, constraint: error.constraint ?? "", message: error.message };
  }
}

/** The usual work of the API, an agent and the worker: none of it may be refused. */
async function ordinaryLife({ world, ids }: Scene): Promise<string[]> {
  const { owned, agent } = world;
  const violations: string[] = [];
  const expect = async (what: string, answer: Promise<{ status: number; body: unknown }>) => {
    const { status, body } = await answer;
    if (status >= 300) violations.push(`${what} was refused: ${status} ${JSON.stringify(body)}`);
  };
  try {
    await expect("a create", owned.post("/servers", world.body()));
    await expect("a delete while it is created", owned.delete(`/servers/${ids.creating}`));
    await agent.work();
    await expect("a cancel of that", owned.post(`/servers/${ids.creating}/cancel-deletion`));
    await expect("a delete", owned.delete(`/servers/${ids.running}`));
    await expect("a cancel before it has stopped", owned.post(`/servers/${ids.running}/cancel-deletion`));
    const second = await world.create();
    await expect("a cancel of a create", owned.post(`/jobs/${second.job.id}/cancel`));
    await expect("a retry of it", owned.post(`/jobs/${second.job.id}/retry`));
    await agent.work();
    const network = await owned.post("/networks", { name: "n", region: world.region });
    const path = `/networks/${network.body.network.id}/subnets`;
    const subnet = await owned.post(path, { name: "s", tier: "app" });
    await expect("a subnet", Promise.resolve(subnet));
    await expect("its end", owned.delete(`${path}/${subnet.body.subnet.id}`));
    if ((await owned.get(`/servers/${ids.leaving}`)).status !== 404)
      violations.push("the server that is leaving was not destroyed");
  } catch (error) {
    violations.push(`ordinary life: ${error instanceof Error ? error.message : String(error)}`);
  }
  return violations;
}
