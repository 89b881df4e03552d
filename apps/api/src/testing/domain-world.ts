import { Client } from "pg";
import { newId } from "../platform/ids.ts";
import type { ApiCaller } from "./api-caller.ts";
import { ApiWorld, type TestOrganisation } from "./api-world.ts";

/** An API and an organisation with domains whose records are written; nobody serves them. */
export class DomainWorld {
  readonly world: ApiWorld;
  readonly organisation: TestOrganisation;
  readonly #database: Client;
  #domains = 0;

  private constructor(world: ApiWorld, organisation: TestOrganisation, database: Client) {
    this.world = world;
    this.organisation = organisation;
    this.#database = database;
  }

  static async open(): Promise<DomainWorld> {
    const world = await ApiWorld.open();
    const database = new Client({ connectionString: world.database.ownerUrl });
    await database.connect();
    return new DomainWorld(world, await world.addOrganisation("acme"), database);
  }

  get owner(): ApiCaller {
    return this.organisation.owner;
  }

  /** A domain that is not proven. */
  async domain(): Promise<{ readonly id: string; readonly name: string }> {
    this.#domains += 1;
    const domain = { id: newId("dom"), name: `d${this.#domains}.example` };
    await this.rows(
      `insert into domain (id, organisation_id, name, default_ttl_seconds, verification_token, label, name_servers)
       values ($1, $2, $3, 3600, 'token', $1, '{ns1.example.net}')`,
      [domain.id, this.organisation.id, domain.name],
    );
    return domain;
  }

  async rows(query: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await this.#database.query(query, [...values])).rows;
  }

  async close(): Promise<void> {
    await this.#database.end();
    await this.world.close();
  }
}
