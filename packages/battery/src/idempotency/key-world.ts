import { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld, type Replica } from "@kule/api/testing/api-world";
import pg from "pg";

/** An organisation, as an operator with one and the same token acts in it. */
export type Tenant = { readonly id: string; readonly caller: ApiCaller };

/**
 * Two organisations that one operator's token acts in, so that only the organisation distinguishes their
 * keys, and two replicas of the API.
 */
export class KeyWorld {
  readonly api: ApiWorld;
  readonly second: Replica;
  readonly mine: Tenant;
  readonly others: Tenant;
  readonly region = "ist1";
  /** For reading, and for moving time. */
  readonly owner: pg.Pool;
  #made = 0;

  private constructor(api: ApiWorld, second: Replica, mine: Tenant, others: Tenant) {
    this.api = api;
    this.second = second;
    this.mine = mine;
    this.others = others;
    this.owner = new pg.Pool({ connectionString: api.database.ownerUrl, max: 2 });
    this.owner.on("error", () => {});
  }

  static async open(): Promise<KeyWorld> {
    const settings = { poolSize: 25 };
    const api = await ApiWorld.open(settings);
    const second = await api.addReplica(settings);
    await api.addRegion("ist1", {
      vmid_range: { first: 1_000, last: 20_999 },
      vlan_range: { first: 2, last: 4_000 },
    });
    const tenant = async (slug: string): Promise<Tenant> => {
      const { id } = await api.addOrganisation(slug);
      return { id, caller: new ApiCaller(api.app, api.operator.token, { "Kule-Organisation": id }) };
    };
    return new KeyWorld(api, second, await tenant("acme"), await tenant("globex"));
  }

  next(word: string): string {
    this.#made += 1;
    return `${word}-${this.#made}`;
  }

  /** Makes a key a day older. */
  async ageKey(key: string): Promise<void> {
    await this.owner.query(
      "update idempotency_key set created_at = created_at - interval '25 hours' where key = $1",
      [key],
    );
  }

  async close(): Promise<void> {
    await this.owner.end();
    await this.api.close();
  }
}
