import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient } from "@kule/contract/client";
import type { RegionWorld } from "@kule/testing/region-world";
import pg from "pg";
import { inParallel } from "../races/in-parallel.ts";

/** A subnet has capacity for more; with this many to one organisation creates do not queue for one lock. */
const SERVERS_OF_AN_ORGANISATION = 40;

export type LivingServer = { readonly id: string; readonly job: string; readonly client: ApiClient };

/**
 * Servers that are created and deleted through the public API of a world, and what its database records of
 * them.
 */
export class ServerLives {
  readonly #world: RegionWorld;
  readonly #db: pg.Pool;
  readonly #organisations: ApiClient[] = [];
  #made = 0;

  constructor(world: RegionWorld) {
    this.#world = world;
    this.#db = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
    this.#db.on("error", () => {});
  }

  async close(): Promise<void> {
    await this.#db.end();
  }

  /** @throws Error when one is refused: nothing on the clients' way is broken here */
  async create(count: number, clients = 8): Promise<LivingServer[]> {
    const first = this.#made;
    this.#made += count;
    while (this.#organisations.length * SERVERS_OF_AN_ORGANISATION < this.#made)
      this.#organisations.push(await this.#world.newOrganisation(`org-${this.#organisations.length + 1}`));
    return inParallel(count, clients, async (index) => {
      const number = first + index;
      const client = this.#organisations[Math.floor(number / SERVERS_OF_AN_ORGANISATION)];
      if (client === undefined) throw new Error("there is no organisation for the server");
      const { server, job } = await this.#world.createServer(`server-${number}`, client);
      return { id: server.id, job: job.id, client };
    });
  }

  async remove(servers: readonly LivingServer[], clients = 8): Promise<void> {
    await inParallel(servers.length, clients, async (index) => {
      const server = servers[index];
      if (server === undefined) return;
      const { error } = await server.client.DELETE("/servers/{server_id}", {
        params: { path: { server_id: server.id } },
      });
      if (error !== undefined) throw new Error(`${server.id} cannot be deleted: ${JSON.stringify(error)}`);
    });
  }

  /**
   * Waits until nothing is pending. What still is after this many seconds is reported, each as a violation;
   * once something is broken, the wait ends.
   */
  async untilSettled(seconds: number, isBroken: () => boolean = () => false): Promise<string[]> {
    const deadline = performance.now() + seconds * 1000;
    for (;;) {
      const open = await this.rows<{ text: string }>(
        `select j.id || ' (' || j.kind || ') is still ' || j.status || ', attempt ' || j.attempt as text
           from job j where j.status in ('queued', 'running')
          union all
         select s.id || ' is still ' || s.status from server s
          where s.status in ('creating', 'starting', 'stopping', 'deleting', 'pending_deletion') and s.protect_delete = false`,
      );
      if (open.length === 0 || isBroken()) return [];
      if (performance.now() > deadline) return open.map(({ text }) => `stuck: ${text} after ${seconds} s`);
      await delay(100);
    }
  }

  /** Ended jobs that did not succeed; one whose place a newer one took is no failure. */
  async failures(): Promise<string[]> {
    const rows = await this.rows<{ text: string }>(
      `select id || ' (' || kind || ') ' || status || ': ' || coalesce(error ->> 'code', '') || ' ' ||
              coalesce(internal_error, '') as text
         from job where status in ('failed', 'cancelled') and coalesce(error ->> 'code', '') <> 'superseded'`,
    );
    return rows.map(({ text }) => `a job did not succeed: ${text}`);
  }

  async rows<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#db.query<Row>(text, [...values])).rows;
  }
}
