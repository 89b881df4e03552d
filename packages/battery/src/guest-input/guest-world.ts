import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld } from "@kule/api/testing/api-world";
import { made } from "@kule/api/testing/proofs/tenant";
import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { TestAgent } from "@kule/api/testing/test-agent";
import type { Schemas } from "@kule/contract/schemas";
import type { VmDocument } from "@kule/lab/documents";
import { runProgram } from "@kule/programs/run-program";
import { createServer } from "@kule/programs/servers/create-server/program";
import { type LabRegion, quietHost, SETTINGS, startLabRegion } from "@kule/programs/testing/lab-region";

type Payload = Schemas["ServerCreatePayload"];

/** A VM as the region has it after all input of its owner. */
export type Guest = {
  readonly vm: VmDocument;
  readonly server: { readonly id: string; readonly name: string };
  readonly organisation: { readonly id: string; readonly slug: string };
  readonly jobId: string;
  readonly payload: Payload;
  /** Type and blob of the keys that were given, in their order. */
  readonly keys: readonly string[];
};

/** The result of one text in every field that reaches a guest. */
export type Trial = {
  readonly text: string;
  /** Fields that took it. */
  readonly accepted: readonly string[];
  readonly refused: number;
  readonly violations: readonly string[];
  readonly guest: Guest | null;
};

const region = "ist1";

/** The API over a real Postgres, and a region in one process whose agent runs its jobs. */
export class GuestWorld {
  readonly #world: ApiWorld;
  readonly #lab: LabRegion;
  readonly #agent: TestAgent;
  #count = 0;

  private constructor(world: ApiWorld, lab: LabRegion, agent: TestAgent) {
    this.#world = world;
    this.#lab = lab;
    this.#agent = agent;
  }

  static async open(): Promise<GuestWorld> {
    const world = await ApiWorld.open();
    const { agent } = await world.addRegion(region, { vlan_range: { first: 2, last: 4000 } });
    const templates = { ...SETTINGS.templates, "debian-13": { vmid: 9000 } };
    return new GuestWorld(world, await startLabRegion({ region, templates }), new TestAgent(agent));
  }

  async close(): Promise<void> {
    await this.#lab.stop();
    await this.#world.close();
  }

  /** A server of which nothing is out of the ordinary. */
  plain(withKey: boolean): Promise<Trial> {
    return this.#try(null, withKey);
  }

  /** Sends the text through every field, and creates a server with all that was accepted. */
  trial(text: string): Promise<Trial> {
    return this.#try(text, true);
  }

  async #try(text: string | null, withKey: boolean): Promise<Trial> {
    this.#count += 1;
    const number = this.#count;
    const accepted: string[] = [];
    const violations: string[] = [];
    let refused = 0;
    /** The answer to a call with the text in that field, or with what is safe when it was refused. */
    const ask = async (
      caller: ApiCaller,
      path: string,
      field: string,
      wild: object | null,
      safe: object,
    ): Promise<Answer["body"]> => {
      if (text !== null && wild !== null) {
        const answer = await caller.post(path, wild);
        if (answer.status < 300) {
          accepted.push(field);
          return answer.body;
        }
        refused += 1;
        if (answer.status !== 422)
          violations.push(`${field} ${JSON.stringify(text)} is answered ${answer.status}, not 422`);
      }
      return made(await caller.post(path, safe));
    };
    const wild = (make: (text: string) => object): object | null => (text === null ? null : make(text));
    const labels = (value: string) => ({ labels: { app: value } });

    const { operator } = this.#world;
    const safeSlug = `org-${number}`;
    const organisation = await ask(
      operator,
      "/organisations",
      "organisation's slug",
      wild((slug) => ({ slug, name: "Plain" })),
      { slug: safeSlug, name: "Plain" },
    );
    if (text !== null) {
      const renamed = await operator.patch(`/organisations/${organisation.id}`, { name: text });
      if (renamed.status < 300) accepted.push("organisation's name");
      else refused += 1;
    }
    const owner = await this.#world.addToken(organisation.id, "owner");
    for (const [field, extra] of text === null
      ? []
      : ([
          ["network's cidr", { cidr: text }],
          ["network's description", { description: text }],
          ["network's labels", labels(text)],
          ["network's label key", { labels: { [text]: "x" } }],
        ] as const)) {
      const answer = await owner.post("/networks?dry_run=true", { name: `dry-${number}`, region, ...extra });
      if (answer.status < 300) accepted.push(field);
      else refused += 1;
    }
    const { network } = await ask(
      owner,
      "/networks",
      "network's name",
      wild((name) => ({ name, region, description: name.slice(0, 500) })),
      { name: `net-${number}`, region },
    );
    const subnets = `/networks/${network.id}/subnets`;
    const named = await ask(
      owner,
      subnets,
      "subnet's name",
      wild((name) => ({ name, tier: "mgmt" })),
      {
        name: `web-${number}`,
        tier: "mgmt",
      },
    );
    const resolved = await ask(
      owner,
      subnets,
      "subnet's DNS servers",
      wild((server) => ({ name: `dns-${number}`, tier: "app", dns_servers: [server] })),
      { name: `dns-${number}`, tier: "app" },
    );
    const subnet = accepted.includes("subnet's DNS servers") ? resolved.subnet : named.subnet;

    const keys: { id: string; bare: string }[] = [];
    const addKey = async (field: string, name: string, line: string, bare: string) => {
      const answer = await owner.post("/ssh-keys", { name, public_key: line });
      if (answer.status < 300) keys.push({ id: answer.body.id, bare });
      if (text === null || name === "plain") return made(answer);
      if (answer.status < 300) accepted.push(field);
      else refused += 1;
      if (answer.status >= 300 && answer.status !== 422)
        violations.push(`${field} ${JSON.stringify(text)} is answered ${answer.status}, not 422`);
    };
    const bareOf = (line: string) => line.split(" ").slice(0, 2).join(" ");
    if (withKey) {
      const line = ed25519Line("me");
      await addKey("key", "plain", line, bareOf(line));
    }
    if (text !== null) {
      const variants: readonly (readonly [string, (bare: string) => string])[] = [
        ["key's comment", (bare) => `${bare} ${text}`],
        ["key's comment after a tab", (bare) => `${bare}\t${text}`],
        ["key's line", () => text],
        ["key's options", (bare) => `${text} ${bare}`],
        ["line after a key", (bare) => `${bare}\n${text}`],
        ["line before a key", (bare) => `${text}\n${bare}`],
        ["text within a key", (bare) => bare.slice(0, 30) + text + bare.slice(30)],
      ];
      for (const [index, [field, write]] of variants.entries()) {
        const bare = bareOf(ed25519Line(""));
        await addKey(field, `key-${index}`, write(bare), bare);
      }
      const bare = bareOf(ed25519Line(""));
      await addKey("key's name", text, bare, bare);
    }

    const body = (name: string, extra: object = {}) => ({
      name,
      region,
      image: "debian-13",
      package: "s",
      subnet_id: subnet.id,
      ssh_key_ids: keys.map(({ id }) => id),
      ...extra,
    });
    for (const [field, extra] of text === null
      ? []
      : ([
          ["private address", { private_ip: text }],
          ["server's labels", labels(text)],
          ["server's label key", { labels: { [text]: "x" } }],
          ["image", { image: text }],
          ["package", { package: text }],
        ] as const)) {
      const answer = await owner.post("/servers?dry_run=true", body(`dry-${number}`, extra));
      if (answer.status < 300) accepted.push(field);
      else refused += 1;
    }
    const safeName = `server-${number}`;
    const created = await ask(
      owner,
      "/servers",
      "server's name",
      wild((name) => body(name)),
      body(safeName),
    );
    const server = { id: created.server.id as string, name: created.server.name as string };
    const guest = await this.#make(
      server,
      organisation,
      keys.map(({ bare }) => bare),
    ).catch((error: unknown) => {
      const took = accepted.length === 0 ? "nothing" : accepted.join(", ");
      violations.push(
        `${JSON.stringify(text)}, which the API accepted as ${took}, is refused by the region: ${error instanceof Error ? error.message : error}`,
      );
      return null;
    });
    return { text: text ?? "", accepted, refused, violations, guest };
  }

  /** Runs the server's job as the region's agent does. */
  async #make(
    server: { id: string; name: string },
    organisation: { id: string; slug: string },
    keys: readonly string[],
  ): Promise<Guest> {
    const job = await this.#agent.take("ServerCreate");
    const { payload } = job;
    if (payload.server.id !== server.id) throw new Error(`the job of ${payload.server.id} came first`);
    try {
      await runProgram(createServer, { id: job.id, payload }, this.#lab.world, quietHost());
      await this.#agent.succeed(job);
    } catch (error) {
      await this.#agent.fail(job);
      throw error;
    }
    const vm = this.#lab.lab.control.vm(payload.vmid);
    if (vm === undefined) throw new Error(`VM ${payload.vmid} is not there`);
    return { vm, server, organisation, jobId: job.id, payload, keys };
  }
}
