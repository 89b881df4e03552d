import type { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld } from "@kule/api/testing/api-world";
import { made } from "@kule/api/testing/proofs/tenant";
import { TestAgent } from "@kule/api/testing/test-agent";
import type { Schemas } from "@kule/contract/schemas";
import { applyFirewall } from "@kule/programs/firewalls/program";
import { runProgram } from "@kule/programs/run-program";
import { createServer } from "@kule/programs/servers/create-server/program";
import { type LabRegion, quietHost, SETTINGS, startLabRegion } from "@kule/programs/testing/lab-region";

type Payload = Schemas["FirewallApplyPayload"];
export type Rule = Schemas["FirewallRuleInput"];

const region = "ist1";

/**
 * The API over a real Postgres with one server in a region in one process, and an owner who sends requests.
 */
export class ParameterWorld {
  readonly #world: ApiWorld;
  readonly #lab: LabRegion;
  readonly #agent: TestAgent;
  readonly #owner: ApiCaller;
  readonly #server: string;
  readonly subnet: string;
  #count = 0;

  private constructor(
    world: ApiWorld,
    lab: LabRegion,
    agent: TestAgent,
    owner: ApiCaller,
    made: { readonly server: string; readonly subnet: string },
  ) {
    this.#world = world;
    this.#lab = lab;
    this.#agent = agent;
    this.#owner = owner;
    this.#server = made.server;
    this.subnet = made.subnet;
  }

  static async open(): Promise<ParameterWorld> {
    const world = await ApiWorld.open();
    const agent = new TestAgent((await world.addRegion(region)).agent);
    const templates = { ...SETTINGS.templates, "debian-13": { vmid: 9000 } };
    const lab = await startLabRegion({ region, templates });
    const organisation = made(await world.operator.post("/organisations", { slug: "plain", name: "Plain" }));
    const owner = await world.addToken(organisation.id, "owner");
    const { network } = made(await owner.post("/networks", { name: "net", region, cidr: "10.20.0.0/16" }));
    const { subnet } = made(
      await owner.post(`/networks/${network.id}/subnets`, { name: "web", tier: "app", cidr: "10.20.0.0/24" }),
    );
    const body = { name: "server", region, image: "debian-13", package: "s", subnet_id: subnet.id };
    const { server } = made(await owner.post("/servers", body));
    const job = await agent.take("ServerCreate");
    await runProgram(createServer, { id: job.id, payload: job.payload }, lab.world, quietHost());
    await agent.succeed(job);
    return new ParameterWorld(world, lab, agent, owner, { server: server.id, subnet: subnet.id });
  }

  async close(): Promise<void> {
    await this.#lab.stop();
    await this.#world.close();
  }

  /** Whether the API accepts the server; a dry run. */
  async takesServer(change: object): Promise<boolean> {
    const body = { name: "another", region, image: "debian-13", package: "s", subnet_id: this.subnet };
    return (await this.#owner.post("/servers?dry_run=true", { ...body, ...change })).status < 300;
  }

  async takesPool(change: object): Promise<boolean> {
    this.#count += 1;
    const { status } = await this.#world.operator.post("/ip-pools", {
      ...{ region, name: `pool-${this.#count}`, gateway: "203.0.113.1", prefix_length: 24 },
      ...change,
    });
    return status < 300;
  }

  async takesNetwork(cidr: string): Promise<boolean> {
    this.#count += 1;
    const { status } = await this.#owner.post("/networks", { name: `net-${this.#count}`, region, cidr });
    return status < 300;
  }

  /**
   * Writes the rules one by one, and applies those that the API accepts to the server's VM.
   *
   * @param rules as many as a firewall may have
   * @returns what was accepted, and why the region refuses it; null when it does not
   */
  async applied(
    rules: readonly Rule[],
  ): Promise<{ readonly taken: readonly Rule[]; readonly refusal: string | null }> {
    const { firewall } = made(await this.#owner.post("/firewalls", { name: "firewall", region }));
    const taken: Rule[] = [];
    for (const rule of rules)
      if ((await this.#owner.post(`/firewalls/${firewall.id}/rules`, rule)).status < 300) taken.push(rule);
    const attachments = `/firewalls/${firewall.id}/attachments`;
    made(await this.#owner.post(attachments, { server_id: this.#server }));
    return { taken, refusal: await this.#bring() };
  }

  async #bring(): Promise<string | null> {
    const job = await this.#agent.take("FirewallApply");
    const payload: Payload = job.payload;
    try {
      const observed = await runProgram(applyFirewall, { id: job.id, payload }, this.#lab.world, quietHost());
      await this.#agent.end(job, { status: "succeeded", observed });
      return null;
    } catch (error) {
      await this.#agent.fail(job);
      return error instanceof Error ? error.message : String(error);
    }
  }
}
