import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ServerWorld } from "@kule/api/testing/server-world";
import { sweepRemovalBuffers } from "@kule/api/worker/expire-removal-buffer";
import { tasksOf } from "@kule/api/worker/run";
import { inParallel } from "../races/in-parallel.ts";

/** A server after the races, read from its rows. */
export type Seen = {
  readonly status: string;
  readonly purgeAt: Date | null;
  /** When each destroy job was written, also a cancelled one: a server that was given up once stays so. */
  readonly destroys: readonly Date[];
};

/** Servers to race for, an API of two replicas, and the worker's own code. */
export class RemovalScene {
  readonly world: ServerWorld;
  readonly #second: ApiCaller["app"];
  readonly #random: () => number;
  readonly violations: string[] = [];
  readonly outcomes = new Map<string, number>();
  /** Servers that survived a race and run: the next race may use them. */
  readonly #survivors = new Set<string>();
  /** Other servers that are left, to be removed at the end. */
  readonly #leftovers = new Set<string>();
  /**
   * How long before its moment a cancel has to start, so that both sides have a chance; adapted to which side
   * wins.
   */
  cancelLeadMs = 5;

  private constructor(world: ServerWorld, second: ApiCaller["app"], random: () => number) {
    this.world = world;
    this.#second = second;
    this.#random = random;
  }

  static async open(random: () => number): Promise<RemovalScene> {
    const settings = { removalBufferSeconds: 3600, poolSize: 24, addressQuarantineSeconds: 0 };
    const world = await ServerWorld.open(settings);
    await world.world.addRegion("wide", { vmid_range: { first: 1_000, last: 60_000 } });
    return new RemovalScene(world, (await world.world.addReplica(settings)).app, random);
  }

  get random(): () => number {
    return this.#random;
  }

  /** The organisation's owner at one of the replicas. */
  caller(): ApiCaller {
    return this.#random() < 0.5 ? this.world.owned : this.world.owned.at(this.#second);
  }

  note(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /** Servers that run: survivors of other races first. */
  async running(count: number): Promise<string[]> {
    const found = [...this.#survivors].slice(0, count);
    for (const id of found) this.#survivors.delete(id);
    const made = await this.creating(count - found.length);
    await this.world.agent.work();
    return [...found, ...made.map(({ server }) => server)];
  }

  /** New servers whose create job waits. */
  creating(count: number): Promise<{ server: string; job: string }[]> {
    return inParallel(count, 8, async () => {
      const { server, job } = await this.world.create();
      return { server: server.id as string, job: job.id as string };
    });
  }

  /** The worker's task at the end of a server's buffer; false when it threw, which the worker would try again. */
  async expire(serverId: string): Promise<boolean> {
    const tasks = tasksOf(this.world.world.replica.deps);
    const payload = { organisation_id: this.world.organisation.id, server_id: serverId };
    try {
      await tasks.expire_removal_buffer?.(payload, {} as never);
      return true;
    } catch (error) {
      this.violations.push(
        `the task at the end of the buffer failed for ${serverId}: ${error instanceof Error ? error.message : error}`,
      );
      return false;
    }
  }

  /** The worker's sweep over all servers. */
  async sweep(): Promise<void> {
    try {
      await sweepRemovalBuffers(this.world.world.replica.deps);
    } catch (error) {
      this.violations.push(`the sweep failed: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Ends the buffer of a server in so many milliseconds by Postgres' clock. */
  async endBufferIn(serverId: string, milliseconds: number): Promise<Date> {
    const [row] = await this.world.rows(
      `update server set purge_at = clock_timestamp() + make_interval(secs => $2) where id = $1 returning purge_at`,
      [serverId, milliseconds / 1000],
    );
    return row.purge_at as Date;
  }

  async see(serverId: string): Promise<Seen> {
    const [row] = await this.world.rows(
      `select s.status, s.purge_at, array(select j.created_at from job j where j.resource_id = s.id
                and j.kind = 'ServerDestroy') as destroys
         from server s where s.id = $1`,
      [serverId],
    );
    return { status: row.status, purgeAt: row.purge_at, destroys: row.destroys };
  }

  /** Notes an answer that is none of these. */
  expect(what: string, answer: Answer, expected: RegExp): void {
    const said = `${answer.status} ${answer.body?.code ?? ""}`.trim();
    if (!expected.test(said)) this.violations.push(`${what}: ${said}`);
  }

  /** Everything that any race has left is removed: nothing of it is in a state that it cannot leave. */
  async removeAll(): Promise<void> {
    const ids = [...this.#survivors, ...this.#leftovers];
    for (const id of ids) {
      const answer = await this.caller().delete(`/servers/${id}`);
      this.expect(`delete of ${id} in the end`, answer, /^(202|404 not_found|409 resource_deleting)$/);
    }
    await this.world.agent.work();
    for (const id of ids) await this.endBufferIn(id, -1);
    await this.sweep();
    for (const [id, status] of await this.settle(ids))
      if (status !== "deleted") this.violations.push(`${id} could not be removed: ${status}`);
  }

  /** Runs every open job to its end, and returns the state of the servers then. */
  async settle(serverIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    await this.world.passBackoff();
    await this.world.agent.work();
    const rows = await this.world.rows("select id, status from server where id = any($1::text[])", [
      serverIds,
    ]);
    for (const { id, status } of rows) {
      this.#survivors.delete(id);
      this.#leftovers.delete(id);
      if (status === "running") this.#survivors.add(id);
      else if (status !== "deleted") this.#leftovers.add(id);
    }
    return new Map(rows.map(({ id, status }) => [id, status]));
  }
}
