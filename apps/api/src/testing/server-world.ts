import { findViolations } from "@kule/invariants/find-violations";
import type { Violation } from "@kule/invariants/violation";
import pg from "pg";
import type { Settings } from "../platform/settings.ts";
import { refreshFiltersOf } from "../worker/refresh-filters.ts";
import type { Answer, ApiCaller } from "./api-caller.ts";
import { ApiWorld, type TestOrganisation } from "./api-world.ts";
import { TestAgent } from "./test-agent.ts";

/** An API with an organisation, a region and its agent: where servers can be created. */
export class ServerWorld {
  readonly world: ApiWorld;
  readonly organisation: TestOrganisation;
  readonly region: string;
  readonly agent: TestAgent;
  /** As the owner of the tables: for reading, and for moving time. */
  readonly owner: pg.Pool;
  #named = 0;

  private constructor(
    world: ApiWorld,
    organisation: TestOrganisation,
    region: { slug: string; agent: ApiCaller },
  ) {
    this.world = world;
    this.organisation = organisation;
    this.region = region.slug;
    this.agent = new TestAgent(region.agent);
    this.owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 4 });
    this.owner.on("error", () => {});
  }

  static async open(settings: Partial<Settings> = {}): Promise<ServerWorld> {
    const world = await ApiWorld.open(settings);
    return new ServerWorld(world, await world.addOrganisation("acme"), await world.addRegion("ist1"));
  }

  get owned(): ApiCaller {
    return this.organisation.owner;
  }

  /** A valid body, with a name of its own. */
  body(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    this.#named += 1;
    return { name: `server-${this.#named}`, region: this.region, image: "debian-13", package: "s", ...more };
  }

  /** POST /servers, which must be accepted. */
  async create(more: Readonly<Record<string, unknown>> = {}, caller = this.owned): Promise<Answer["body"]> {
    const answer = await caller.post("/servers", this.body(more));
    if (answer.status !== 202) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** A server that has been created and runs. */
  async createRunning(more: Readonly<Record<string, unknown>> = {}): Promise<Answer["body"]> {
    const { server } = await this.create(more);
    await this.agent.work();
    return this.server(server.id);
  }

  /** A firewall of the region; without rules given it allows SSH in. */
  async newFirewall(
    rules: readonly object[] = [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }] }],
  ): Promise<Answer["body"]> {
    this.#named += 1;
    const name = `fw-${this.#named}`;
    const answer = await this.owned.post("/firewalls", { name, region: this.region, rules });
    if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.firewall;
  }

  /** The worker's task after a change of labels, addresses or subnets. */
  refreshFilters(): Promise<unknown> {
    return refreshFiltersOf(this.world.replica.deps, this.organisation.id, this.region);
  }

  async violations(): Promise<Violation[]> {
    const client = await this.owner.connect();
    try {
      return await findViolations(client);
    } finally {
      client.release();
    }
  }

  async server(id: string): Promise<Answer["body"]> {
    const answer = await this.owned.get(`/servers/${id}`);
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async job(id: string): Promise<Answer["body"]> {
    const { items } = (await this.owned.get(`/jobs?limit=200`)).body;
    const job = items.find((each: { id: string }) => each.id === id);
    if (job === undefined) throw new Error(`no job ${id}`);
    return job;
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of whatever the test asks for
  async rows(text: string, values: readonly unknown[] = []): Promise<any[]> {
    return (await this.owner.query(text, [...values])).rows;
  }

  /** Lets the lease of a running job expire. */
  async passLease(jobId: string): Promise<void> {
    await this.owner.query(
      "update job set lease_until = clock_timestamp() - interval '1 second' where id = $1",
      [jobId],
    );
  }

  /** Ends all backoffs. */
  async passBackoff(): Promise<void> {
    await this.owner.query(
      "update job set run_at = clock_timestamp() - interval '1 second' where status = 'queued'",
    );
  }

  /** Ends the removal buffer of a server. */
  async passBuffer(serverId: string): Promise<void> {
    await this.owner.query(
      "update server set purge_at = clock_timestamp() - interval '1 second' where id = $1",
      [serverId],
    );
  }

  async close(): Promise<void> {
    await this.owner.end();
    await this.world.close();
  }
}
