import type { FieldError } from "@kule/contract/field-errors";
import type { PayloadOf, RequestBody } from "@kule/contract/schemas";
import type { RawBuilder } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import type { JobEnd } from "../../platform/job-handler.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import type { ServerRow } from "./store.ts";

type CreateBody = RequestBody<"createServer">;
type PayloadFilter = PayloadOf<"FirewallApply">["filter"];

export type HookedServer = Pick<ServerRow, "id" | "organisation_id" | "region">;
/** The server's row at the end of its job, with the changes that the end makes. */
export type SettledServer = ServerRow;

export type JobEnding = {
  readonly job: JobRow;
  readonly end: JobEnd;
  readonly settings: Settings;
  /** The server is deleted, or will not be created: its addresses and its number are free. */
  readonly releasesAllocations: boolean;
};

export type Settle = (server: SettledServer, ending: JobEnding) => Promise<void>;

/** As its payload names it. */
export type PublicInterface = NonNullable<PayloadOf<"PublicIpAttach">["public_interface"]>;

/**
 * Hooks of other products for servers, which do not import these products. They are listed in
 * `products/server-hooks.ts`, and called in that order, which is the order of their locks.
 */
export type ServerHooks = {
  /**
   * What is wrong with the fields of a create that belong to the product.
   *
   * @param region null where it is not known yet
   */
  check?(
    request: { readonly db: Database | Tx; readonly organisationId: string },
    body: Partial<CreateBody>,
    region: string | null,
  ): Promise<readonly FieldError[]>;
  /** Locks what a create names: after the server's row was written, before the network's and the subnet's are locked. */
  lockForCreate?(tx: Tx, server: HookedServer, body: CreateBody): Promise<void>;
  /**
   * Attaches what the create names to the server that is being created. It has its private address by now.
   */
  give?(tx: Tx, server: HookedServer, body: CreateBody): Promise<void>;
  /**
   * Records the public addresses that a VM has which becomes this server: it was the server's before a restore of the
   * database from a backup that does not have it.
   */
  takeOver?(tx: Tx, server: HookedServer, publicAddresses: readonly string[]): Promise<void>;
  /**
   * Locks what of the product's the end of the job may concern, before the servers' rows. The other servers that it may
   * concern are the result of the query, a column \`id\`: their rows are locked together with the job's own.
   */
  lockRelated?(
    tx: Tx,
    job: Pick<JobRow, "organisation_id" | "resource_id">,
  ): RawBuilder<{ id: string | null }>;
  /** The public interface that the server's VM should have now; null for none. At most one product has it. */
  publicInterface?(tx: Tx, server: HookedServer & { readonly vmid: number }): Promise<PublicInterface | null>;
  /**
   * The rules that the server's VM should have now; undefined where nothing is filtered. At most one product
   * has them.
   */
  filter?(tx: Tx, server: HookedServer): Promise<PayloadFilter | undefined>;
  /**
   * Reads what the product has of the server whose job ends, and returns what writes the end's meaning for it. That runs
   * after usage was recorded.
   */
  settle?(tx: Tx, server: HookedServer): Promise<Settle>;
  /** A job of the server that had ended waits again. */
  retried?(tx: Tx, job: JobRow): Promise<void>;
  /**
   * The server has left the removal buffer, and no end of a job will settle what the product has attached to
   * it.
   */
  restored?(tx: Tx, server: SettledServer, job: JobRow): Promise<void>;
};
