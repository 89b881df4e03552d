import type { RequestBody } from "@kule/contract/schemas";
import type { ServerOwner } from "@kule/rules/servers/owner";
import type { Tx } from "../platform/database.ts";
import { newIdBody } from "../platform/ids.ts";
import { actAs } from "../platform/mutation.ts";
import { inTransaction } from "../platform/transaction.ts";
import { serverHooks } from "../products/server-hooks.ts";
import { type ByOwner, createManagedServer } from "../products/servers/index.ts";
import type { ServerWorld } from "./server-world.ts";

/**
 * A product that runs on servers of its own, as load balancers and clusters do: it changes them in its transactions. By default
 * a cluster, of which there is no table yet that would have to have it.
 */
export class OwnerOfServers {
  readonly owner: ServerOwner;
  readonly #world: ServerWorld;

  constructor(world: ServerWorld, type: ServerOwner["type"] = "cluster", name = "front") {
    this.#world = world;
    this.owner = { type, id: `${type === "cluster" ? "k8s" : "lb"}_${newIdBody()}`, name };
  }

  /** Runs work in one transaction of the organisation. */
  change<Result>(work: (by: ByOwner, tx: Tx) => Promise<Result>): Promise<Result> {
    const { world, organisation } = this.#world;
    const { db, settings } = world.replica.deps;
    return inTransaction(db, async (tx) => {
      actAs(tx, organisation.id);
      return work(
        {
          organisationId: organisation.id,
          owner: this.owner,
          requestedBy: { type: "user", id: null, name: "Ada" },
          requestId: `req_${newIdBody()}`,
          settings,
        },
        tx,
      );
    });
  }

  /** @returns the server's id */
  async create(more: Partial<RequestBody<"createServer">> = {}): Promise<string> {
    const body = this.#world.body(more) as RequestBody<"createServer">;
    const { id } = await this.change((by, tx) => createManagedServer(by, tx, body, serverHooks));
    return id;
  }

  async createRunning(more: Partial<RequestBody<"createServer">> = {}): Promise<string> {
    const id = await this.create(more);
    await this.#world.agent.work();
    return id;
  }
}
