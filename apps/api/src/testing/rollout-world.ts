import type { Schemas } from "@kule/contract/schemas";
import pg from "pg";
import type { Settings } from "../platform/settings.ts";
import { tasksOf } from "../worker/run.ts";
import type { ApiCaller } from "./api-caller.ts";
import { ApiWorld, type Replica, type TestOrganisation } from "./api-world.ts";
import { made } from "./proofs/tenant.ts";
import { ReleaseFolders } from "./release-folders.ts";
import { TestAgent } from "./test-agent.ts";

type Health = Partial<Schemas["HealthReport"]> & { readonly ok?: boolean };

/** Regions whose agents say what a test wants, a folder of releases, and the worker's task, which is run by hand. */
export class RolloutWorld {
  readonly api: ApiWorld;
  readonly folder: ReleaseFolders;
  readonly acme: TestOrganisation;
  readonly #owner: pg.Client;
  readonly #agents = new Map<string, ApiCaller>();
  #servers = 0;

  private constructor(api: ApiWorld, folder: ReleaseFolders, acme: TestOrganisation, owner: pg.Client) {
    this.api = api;
    this.folder = folder;
    this.acme = acme;
    this.#owner = owner;
  }

  /** Regions a, b and c, whose agents run 1.3.0; and the releases 1.3.0 and 1.4.0. */
  static async open(settings: Partial<Settings> = {}): Promise<RolloutWorld> {
    const folder = new ReleaseFolders();
    for (const version of ["1.3.0", "1.4.0"]) folder.add(version);
    const api = await ApiWorld.open({ agentReleases: folder.path, ...settings });
    const owner = new pg.Client({ connectionString: api.database.ownerUrl });
    await owner.connect();
    const world = new RolloutWorld(api, folder, await api.addOrganisation("acme"), owner);
    for (const slug of ["a", "b", "c"]) await world.addRegion(slug);
    await api.replica.deps.releases.checked();
    return world;
  }

  async addRegion(slug: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const { agent } = await this.api.addRegion(slug, more);
    this.#agents.set(slug, agent);
    if (more.mode !== "direct") await this.report(slug);
  }

  /** The region's agent reports; says the version that it is to have. */
  async report(slug: string, { ok = true, ...more }: Health = {}): Promise<string | null> {
    const answer = made(
      await this.agentOf(slug).post("/agent/health", {
        ...{ agent_version: "1.3.0", agent_name: `agent-${slug}`, architecture: "x64", can_update: true },
        hypervisor: { kind: "proxmox", reachable: ok },
        ...more,
      }),
    );
    return answer.update_to;
  }

  /** It runs the version, and has proven it. */
  updated(slug: string, version = "1.4.0"): Promise<string | null> {
    return this.report(slug, { agent_version: version, update: this.updateTo("done", version) });
  }

  updateTo(
    state: Schemas["AgentUpdateState"],
    version = "1.4.0",
    message: string | null = null,
  ): Schemas["AgentUpdate"] {
    const code = message === null ? null : "reason";
    return { version, state, code, message, at: new Date().toISOString() };
  }

  agentOf(slug: string): ApiCaller {
    const agent = this.#agents.get(slug);
    if (agent === undefined) throw new Error(`there is no region ${slug}`);
    return agent;
  }

  async start(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return made(await this.api.operator.post("/agent-rollouts", { version: "1.4.0", ...more })).id;
  }

  async rollout(id: string): Promise<Schemas["AgentRollout"]> {
    return made(await this.api.operator.get(`/agent-rollouts/${id}`));
  }

  /** The states of its regions, by their names. */
  async states(id: string): Promise<Readonly<Record<string, string>>> {
    const { regions = [] } = await this.rollout(id);
    return Object.fromEntries(regions.map(({ region, state }) => [region, state]));
  }

  change(id: string, verb: "pause" | "resume" | "cancel") {
    return this.api.operator.post(`/agent-rollouts/${id}/${verb}`);
  }

  async set(settings: Readonly<Record<string, unknown>>): Promise<void> {
    made(await this.api.operator.patch("/agent-updates", settings));
  }

  /** The worker's task, once. */
  async step(replica: Pick<Replica, "deps"> = this.api.replica): Promise<void> {
    await tasksOf(replica.deps).advance_rollout?.({}, {} as never);
  }

  /** Some minutes go by, in which agents report. */
  async pass(minutes: number, silent: readonly string[] = []): Promise<void> {
    const earlier = `- interval '${minutes} minutes'`;
    await this.sql(
      `update agent_rollout_region set offered_at = offered_at ${earlier}, ended_at = ended_at ${earlier}`,
    );
    await this.sql(`update region set status_since = status_since ${earlier}`);
    await this.sql(`update job set created_at = created_at ${earlier}`);
    for (const table of ["region_agent", "region"])
      await this.sql(
        `update ${table} set ${table === "region" ? "health_at = health_at" : "reported_at = reported_at"} ${earlier}
          where ${table === "region" ? "slug" : "region"} = any($1)`,
        [silent],
      );
  }

  /** Servers whose creation ends so. */
  async jobs(slug: string, outcomes: readonly ("succeeded" | "failed")[]): Promise<void> {
    const agent = new TestAgent(this.agentOf(slug));
    for (const status of outcomes) {
      this.#servers += 1;
      const server = { name: `s${this.#servers}`, region: slug, image: "debian-13", package: "s" };
      made(await this.acme.owner.post("/servers", server));
      const job = await agent.claim();
      if (job === null) throw new Error("the job of the server is not there");
      if (status === "succeeded") await agent.succeed(job);
      else
        await agent.end(job, {
          status,
          error: { code: "template_missing", message: "no", retryable: false },
        });
    }
  }

  async sql(statement: string, values: readonly unknown[] = []) {
    return (await this.#owner.query(statement, [...values])).rows;
  }

  /** No rollout, the settings of a new installation, and agents that run 1.3.0. */
  async clear(): Promise<void> {
    await this.sql("delete from agent_rollout_region");
    await this.sql("delete from agent_rollout");
    await this.sql("delete from region_agent");
    await this.sql("delete from agent_update_settings");
    await this.sql("insert into agent_update_settings default values");
    for (const slug of this.#agents.keys())
      if ((await this.sql("select from region where slug = $1 and mode = 'agent'", [slug])).length > 0)
        await this.report(slug);
    await this.sql("update region set status_since = clock_timestamp() - interval '1 hour'");
  }

  async close(): Promise<void> {
    await this.#owner.end();
    await this.api.close();
    this.folder.remove();
  }
}
