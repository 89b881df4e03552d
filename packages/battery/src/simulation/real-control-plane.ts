// The other side of the conformance check: the real API in this process over a real Postgres.

import { jobHandlers } from "@kule/api/products/job-handlers";
import type { Answer } from "@kule/api/testing/api-caller";
import type { ServerWorld } from "@kule/api/testing/server-world";
import { TestAgent } from "@kule/api/testing/test-agent";
import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import { reapLeases } from "@kule/api/worker/reap-leases";
import { claimAnswer, type Move, type MoveAnswer, reportAnswer, shown } from "./sequence-moves.ts";
import { row, type SequenceState } from "./sequence-state.ts";

export class RealControlPlane {
  readonly #world: ServerWorld;
  readonly #region: string;
  readonly #agent: TestAgent;
  readonly #maxAttempts: number;
  /** In the order of their making. */
  readonly #servers: string[] = [];

  private constructor(world: ServerWorld, region: string, agent: TestAgent, maxAttempts: number) {
    this.#world = world;
    this.#region = region;
    this.#agent = agent;
    this.#maxAttempts = maxAttempts;
  }

  /** A region of its own with an agent that has reported its health. */
  static async open(
    world: ServerWorld,
    region: string,
    vmidRange: { readonly first: number; readonly last: number },
    maxAttempts: number,
  ): Promise<RealControlPlane> {
    const { agent } = await world.world.addRegion(region, { vmid_range: vmidRange });
    const health = await agent.post("/agent/health", {
      agent_version: "0.0.0",
      hypervisor: { kind: "proxmox", reachable: true },
    });
    if (health.status !== 200) throw new Error(`health answered ${health.status}`);
    return new RealControlPlane(world, region, new TestAgent(agent), maxAttempts);
  }

  async play(move: Move): Promise<MoveAnswer> {
    const answer = await this.#play(move);
    // Backoffs come due only when a move says so, however long this takes.
    await this.#world.owner.query(
      `update job set max_attempts = $2, run_at = case
         when status = 'queued' and run_at > clock_timestamp() then run_at + interval '1 hour' else run_at end
        where region = $1 and (max_attempts <> $2 or (status = 'queued' and run_at > clock_timestamp()
              and run_at < clock_timestamp() + interval '30 minutes'))`,
      [this.#region, this.#maxAttempts],
    );
    return answer;
  }

  async #play(move: Move): Promise<MoveAnswer> {
    const { owned, owner, world } = this.#world;
    switch (move.do) {
      case "create": {
        const body = this.#world.body({ region: this.#region, start: move.start });
        const answer = await owned.post("/servers", body);
        if (answer.status === 202) this.#servers.push(answer.body.server.id);
        return ofServer(answer);
      }
      case "delete":
        return ofServer(await owned.delete(`/servers/${this.#server(move.server)}`));
      case "keep":
        return ofServer(await owned.post(`/servers/${this.#server(move.server)}/cancel-deletion`));
      case "expire": {
        const id = this.#server(move.server);
        await owner.query(
          "update server set purge_at = clock_timestamp() where id = $1 and purge_at is not null and status = 'pending_deletion'",
          [id],
        );
        const { deps } = world.replica;
        return { expired: await expireRemovalBuffer(deps, this.#world.organisation.id, id) };
      }
      case "cancel":
        return ofJob(await owned.post(`/jobs/${await this.#job(move.job)}/cancel`));
      case "retry":
        return ofJob(await owned.post(`/jobs/${await this.#job(move.job)}/retry`));
      case "pass-lease":
        await owner.query(
          "update job set lease_until = clock_timestamp() where id = $1 and status = 'running'",
          [await this.#job(move.job)],
        );
        return {};
      case "pass-backoff":
        await owner.query("update job set run_at = clock_timestamp() where id = $1 and status = 'queued'", [
          await this.#job(move.job),
        ]);
        return {};
      case "reap":
        return { reaped: await reapLeases(world.replica.deps, jobHandlers) };
      case "claim": {
        const { claimId, capabilities } = move;
        const answer = await this.#agent.claimRaw({ claim_id: claimId, capabilities });
        if (answer.status !== 200) return refusalOf(answer);
        const numbers = await this.#jobNumbers();
        return claimAnswer(numbers.get(answer.body.job.id) ?? 0, answer.body.job);
      }
      case "report": {
        const job = { id: await this.#job(move.job), epoch: move.epoch };
        const answer = await this.#agent.reportAs(job as never, move.seq, move.report);
        return answer.status === 200 ? reportAnswer(200, answer.body) : refusalOf(answer);
      }
    }
  }

  async state(): Promise<SequenceState> {
    const texts = async (sql: string): Promise<string[]> => {
      const rows = await this.#world.rows(sql, [this.#region]);
      return rows.map((each) => row(...Object.values(each)));
    };
    const numbered = `with s as (select *, row_number() over (order by created_at, id) as n from server where region = $1),
      j as (select *, row_number() over (order by created_at, id) as n from job where region = $1)`;
    return {
      servers: await texts(
        `${numbered} select n, status, power_state, status_code, restores_to, generation, observed_generation,
                purge_at is not null as marked,
                exists (select 1 from server_secret x where x.server_id = s.id) as secret
           from s order by n`,
      ),
      jobs: await texts(
        `${numbered} select j.n, j.kind, s.n as server, j.status, j.attempt, j.epoch, j.last_seq, j.phase, j.progress,
                j.irreversible, j.cancel_requested, j.error->>'code' as code, j.lease_until is not null as leased,
                (select count(*) from audit a where a.resource = j.id and a.action = 'job.end') as ends
           from j join s on s.id = j.resource_id order by j.n`,
      ),
      steps: await texts(
        `${numbered} select j.n, t.epoch, t.attempt, t.phase, t.name, t.status
           from job_step t join j on j.id = t.job_id order by j.n, t.epoch, t.seq`,
      ),
      usage: await texts(
        `${numbered} select s.n, u.kind, j.n as job from usage_event u join s on s.id = u.resource_id
           left join j on j.id = u.job_id where u.region = $1 order by u.seq`,
      ),
      numbers: await texts(
        `${numbered} select v.vmid, v.state, s.n from region_vmid v left join s on s.id = v.server_id
          where v.region = $1 and v.state <> 'free' order by v.vmid`,
      ),
      addresses: await texts(
        `${numbered} select s.n, (select count(*) from nic join address a on a.nic_id = nic.id
                 where nic.server_id = s.id and a.state = 'used') as used from s order by s.n`,
      ),
    };
  }

  /** Leases that passed are given new time, so that the next sequence's reaping finds nothing of this one. */
  async renewAll(): Promise<void> {
    await this.#world.owner.query(
      "update job set lease_until = clock_timestamp() + interval '1 day' where region = $1 and status = 'running'",
      [this.#region],
    );
  }

  #server(number: number): string {
    return this.#servers[number - 1] ?? "srv_none";
  }

  async #job(number: number): Promise<string> {
    for (const [id, each] of await this.#jobNumbers()) if (each === number) return id;
    return "job_none";
  }

  async #jobNumbers(): Promise<Map<string, number>> {
    const rows = await this.#world.rows("select id from job where region = $1 order by created_at, id", [
      this.#region,
    ]);
    return new Map(rows.map(({ id }, index) => [id as string, index + 1]));
  }
}

function refusalOf({ status, body }: Answer): MoveAnswer {
  return status === 204 ? { status } : { status, code: body?.code ?? null };
}

function ofServer(answer: Answer): MoveAnswer {
  if (answer.status !== 202) return refusalOf(answer);
  const { server, job } = answer.body;
  return { status: 202, ...shown({ status: server.status, power: server.power_state }, job) };
}

function ofJob(answer: Answer): MoveAnswer {
  return answer.status === 202
    ? { status: 202, job: answer.body.job?.status ?? answer.body.status }
    : refusalOf(answer);
}
