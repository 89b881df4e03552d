// The other side of the conformance check: the real API in this process over a real Postgres.

import { jobHandlers } from "@kule/api/products/job-handlers";
import type { Answer } from "@kule/api/testing/api-caller";
import type { ServerWorld } from "@kule/api/testing/server-world";
import { TestAgent } from "@kule/api/testing/test-agent";
import { expireLeases } from "@kule/api/worker/expire-leases";
import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import { FIRST_PORT } from "./control-plane.ts";
import type { ServerRequest } from "./model-requests.ts";
import {
  claimAnswer,
  type Move,
  type MoveAnswer,
  reportAnswer,
  shown,
  shownIp,
  withFilterOf,
} from "./sequence-moves.ts";
import { row, type SequenceState } from "./sequence-state.ts";

type Setting = {
  readonly vmidRange: { readonly first: number; readonly last: number };
  readonly maxAttempts: number;
  readonly publicIps: number;
  readonly firewalls: number;
};

export class RealControlPlane {
  readonly #world: ServerWorld;
  readonly #region: string;
  readonly #agent: TestAgent;
  readonly #maxAttempts: number;
  /** In the order of their making. */
  readonly #servers: string[] = [];
  /** Ids of the public addresses, by their numbers. */
  readonly #ips: string[] = [];
  readonly #ipNumbers = new Map<string, number>();
  readonly #firewalls: string[] = [];
  /** The filters in the payloads of the last claims, by the jobs' ids. */
  readonly #given = new Map<string, string>();

  private constructor(world: ServerWorld, region: string, agent: TestAgent, maxAttempts: number) {
    this.#world = world;
    this.#region = region;
    this.#agent = agent;
    this.#maxAttempts = maxAttempts;
  }

  /** A region of its own with an agent that has reported its health, and public addresses of the organisation's. */
  static async open(
    world: ServerWorld,
    number: number,
    { vmidRange, maxAttempts, publicIps, firewalls }: Setting,
  ): Promise<RealControlPlane> {
    const region = `r${number}`;
    const { agent } = await world.world.addRegion(region, { vmid_range: vmidRange });
    const health = await agent.post("/agent/health", {
      agent_version: "0.0.0",
      hypervisor: { kind: "proxmox", reachable: true },
    });
    if (health.status !== 200) throw new Error(`health answered ${health.status}`);
    const real = new RealControlPlane(world, region, new TestAgent(agent), maxAttempts);
    await real.#takeAddresses(`100.${64 + (number >> 8)}.${number & 255}`, publicIps);
    for (let count = 0; count < firewalls; count += 1) await real.#addFirewall(count);
    return real;
  }

  async #takeAddresses(net: string, count: number): Promise<void> {
    const { owned, organisation, world } = this.#world;
    const { operator } = world;
    const pool = made(
      await operator.post("/ip-pools", {
        region: this.#region,
        name: this.#region,
        gateway: `${net}.254`,
        prefix_length: 24,
      }),
    );
    made(await operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: `${net}.0/28` }));
    made(
      await operator.post(`/ip-pools/${pool.id}/allocations`, { organisation_id: organisation.id, count }),
    );
    for (let taken = 1; taken <= count; taken++) {
      const ip = made(await owned.post("/public-ips", { region: this.#region }));
      this.#ips.push(ip.id);
      this.#ipNumbers.set(ip.address, taken);
    }
  }

  async #addFirewall(index: number): Promise<void> {
    const { owned } = this.#world;
    const body = {
      name: `firewall-${index + 1}`,
      region: this.#region,
      rules: [ruleFor(FIRST_PORT + index)],
    };
    this.#firewalls.push(made(await owned.post("/firewalls", body)).firewall.id);
  }

  async #detachFirewall(number: number, serverId: string): Promise<Answer> {
    const { owned } = this.#world;
    const firewall = `/firewalls/${this.#firewalls[number - 1]}`;
    const { attachments } = made(await owned.get(firewall));
    const found = attachments.find((each: { server_id: string | null }) => each.server_id === serverId);
    return owned.delete(`${firewall}/attachments/${found?.id ?? "fwa_none"}`);
  }

  async play(move: Move): Promise<MoveAnswer> {
    const answer = await this.#play(move);
    // Backoffs end only when a move says so, however long this takes.
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
        const name = `server-${this.#servers.length + 1}`;
        const body = { region: this.#region, name, image: "ubuntu-24.04", package: "s", start: move.start };
        return ofServer(this.#written(await owned.post("/servers", body)));
      }
      case "ask":
        return ofServer(await this.#ask(move.server, move.wish));
      case "adopt": {
        const [subnet] = await this.#world.rows(
          "select id from subnet where region = $1 and organisation_id = $2",
          [this.#region, this.#world.organisation.id],
        );
        const { vmid, name } = move;
        const body = { name, region: this.#region, vmid, image: "ubuntu-24.04", package: "s" };
        const operator = world.operator.with({ "Kule-Organisation": this.#world.organisation.id });
        return ofServer(
          this.#written(await operator.post("/servers/import", { ...body, subnet_id: subnet.id })),
        );
      }
      case "attach":
        return ofIp(
          await owned.post(`/public-ips/${this.#ips[move.ip - 1]}/attach`, {
            server_id: this.#server(move.server),
            force: move.force,
          }),
        );
      case "detach":
        return ofIp(await owned.post(`/public-ips/${this.#ips[move.ip - 1]}/detach`));
      case "filter":
        return ofFirewall(
          await owned.post(`/firewalls/${this.#firewalls[move.firewall - 1]}/attachments`, {
            server_id: this.#server(move.server),
          }),
        );
      case "unfilter":
        return ofFirewall(await this.#detachFirewall(move.firewall, this.#server(move.server)));
      case "change-rule":
        return ofFirewall(
          await owned.put(`/firewalls/${this.#firewalls[move.firewall - 1]}/rules`, {
            rules: [ruleFor(move.port)],
          }),
        );
      case "purge":
        return ofServer(await owned.delete(`/servers/${this.#server(move.server)}?purge=true`));
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
        return { reaped: await expireLeases(world.replica.deps, jobHandlers) };
      case "claim": {
        const { claimId, capabilities } = move;
        const answer = await this.#agent.claimRaw({ claim_id: claimId, capabilities });
        if (answer.status !== 200) return refusalOf(answer);
        const numbers = await this.#jobNumbers();
        const { id, payload } = answer.body.job;
        if (payload.filter === undefined) this.#given.delete(id);
        else this.#given.set(id, payload.filter.id);
        return claimAnswer(numbers.get(answer.body.job.id) ?? 0, answer.body.job, this.#ipNumbers);
      }
      case "report": {
        const job = { id: await this.#job(move.job), epoch: move.epoch };
        const report = withFilterOf(move.report, this.#given.get(job.id) ?? null);
        const answer = await this.#agent.reportAs(job as never, move.seq, report);
        return answer.status === 200 ? reportAnswer(200, answer.body) : refusalOf(answer);
      }
    }
  }

  #written(answer: Answer): Answer {
    if (answer.status === 202) this.#servers.push(answer.body.server.id);
    return answer;
  }

  async #ask(number: number, wish: ServerRequest): Promise<Answer> {
    const { owned } = this.#world;
    const server = `/servers/${this.#server(number)}`;
    switch (wish.to) {
      case "power": {
        const { action, timeoutSeconds: timeout_seconds, force: force_after } = wish;
        return owned.post(`${server}/power`, { action, timeout_seconds, force_after });
      }
      case "resize": {
        const { slug, allowRestart: allow_restart, growDisk: grow_disk } = wish;
        return owned.post(`${server}/resize`, { package: slug, allow_restart, grow_disk });
      }
      case "rebuild": {
        const [found] = await this.#world.rows("select name from server where id = $1", [
          this.#server(number),
        ]);
        return owned.post(`${server}/rebuild`, { image: wish.image, confirm_name: found?.name ?? "none" });
      }
      case "password":
        return owned.post(`${server}/password-reset`, { when: wish.when });
      case "update": {
        const { to, ...changes } = wish;
        return owned.patch(server, changes);
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
                exists (select 1 from server_secret x where x.server_id = s.id) as secret,
                name, image, package, disk_gb, resize_package, resize_disk_gb, protect_delete, protect_rebuild,
                filter_wanted = '' as unfiltered, filter_applied = filter_wanted as has, filter_applied = '' as open,
                filter_applied = 'unknown' as unknown, filter_failed
           from s order by n`,
      ),
      jobs: await texts(
        `${numbered} select j.n, j.kind, s.n as server, j.status, j.attempt, j.epoch, j.last_seq, j.phase, j.progress,
                j.irreversible, j.cancel_requested, j.error->>'code' as code, j.lease_until is not null as leased,
                j.status = 'queued' and j.run_at <= clock_timestamp() as due,
                (select count(*) from audit a where a.resource = j.id and a.action = 'job.end') as ends
           from j join s on s.id = j.resource_id order by j.n`,
      ),
      steps: await texts(
        `${numbered} select j.n, t.epoch, t.attempt, t.phase, t.name, t.status
           from job_step t join j on j.id = t.job_id order by j.n, t.epoch, t.seq`,
      ),
      usage: await texts(
        `${numbered} select s.n, u.kind, j.n as job, u.package from usage_event u join s on s.id = u.resource_id
           left join j on j.id = u.job_id where u.region = $1 and u.resource_type = 'server' order by u.seq`,
      ),
      numbers: await texts(
        `${numbered} select v.vmid, v.state, s.n from region_vmid v left join s on s.id = v.server_id
          where v.region = $1 and v.state <> 'free' order by v.vmid`,
      ),
      addresses: await texts(
        `${numbered} select s.n, (select count(*) from nic join address a on a.nic_id = nic.id
                 where nic.server_id = s.id and a.state = 'used') as used from s order by s.n`,
      ),
      publicIps: await texts(
        `${numbered}, i as (select *, row_number() over (order by created_at, id) as n from public_ip where region = $1)
         select i.n, wanted.n as server, held.n as holder, i.is_applied, i.requires_reboot, i.status_code, i.generation
           from i left join s wanted on wanted.id = i.server_id left join s held on held.id = i.held_by order by i.n`,
      ),
      firewalls: await texts(
        `${numbered}, f as (select *, row_number() over (order by created_at, id) as n from firewall where region = $1)
         select f.n, (select string_agg(r.ports[1], ',') from firewall_rule r where r.firewall_id = f.id) as ports,
                coalesce((select string_agg(s.n::text, ',' order by s.n) from firewall_attachment a
                   join s on s.id = a.server_id where a.firewall_id = f.id), '') as servers
           from f order by f.n`,
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
  // A change without a job answers the bare server.
  if (answer.status === 200)
    return { status: 200, ...shown({ status: answer.body.status, power: answer.body.power_state }, null) };
  if (answer.status !== 202) return refusalOf(answer);
  const { server, job } = answer.body;
  return { status: 202, ...shown({ status: server.status, power: server.power_state }, job) };
}

function ofIp(answer: Answer): MoveAnswer {
  if (answer.status !== 202) return refusalOf(answer);
  const { public_ip: ip, server, job } = answer.body;
  return shownIp(ip.status, server, job);
}

function ofFirewall(answer: Answer): MoveAnswer {
  const { status, body } = answer;
  return status === 200 || status === 202 ? { status, jobs: body.job_ids.length } : refusalOf(answer);
}

const ruleFor = (port: number) => ({ protocol: "tcp", ports: [String(port)], peers: [{ any: true }] });

function made(answer: Answer): Answer["body"] {
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

function ofJob(answer: Answer): MoveAnswer {
  return answer.status === 202
    ? { status: 202, job: answer.body.job?.status ?? answer.body.status }
    : refusalOf(answer);
}
