import type { JobKind } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction, sendAhead } from "../../platform/transaction.ts";
import type { ServerHooks } from "../servers/index.ts";
import { bySystem, requestDomainApply } from "./apply.ts";
import { lockDomain } from "./store.ts";

/** Jobs whose end changes which public addresses a server's VM has. */
const changeAddresses: ReadonlySet<string> = new Set<JobKind>([
  "PublicIpAttach",
  "PublicIpDetach",
  "ServerCreate",
  "ServerAdopt",
  "ServerRestore",
  "ServerDestroy",
  "ServerReconcile",
  "ServerUpdate",
]);

/**
 * What domains have to do with servers: record sets that follow a server are served anew when its addresses have changed.
 * By a task of its own, because a change of a domain locks the domain before the servers that it names.
 */
export const domainsOfServers: ServerHooks = {
  settle: async (tx, { id, organisation_id }) => {
    return async (_server, { job }) => {
      if (!changeAddresses.has(job.kind)) return;
      const payload = JSON.stringify({ organisation_id, server_id: id });
      sendAhead(
        tx,
        sql`select kule_task_add('follow_addresses', ${payload}::json, clock_timestamp(), ${`follow:${id}`})
             where exists (select from record_set
                            where organisation_id = ${organisation_id} and server_id = ${id})`,
      );
    };
  },
};

/** Has the domains with record sets of the server applied. @returns how many */
export async function applyDomainsOfServer(
  db: Database,
  organisationId: string,
  serverId: string,
): Promise<number> {
  const found = await db
    .selectFrom("record_set")
    .select("domain_id")
    .distinct()
    .where("organisation_id", "=", organisationId)
    .where("server_id", "=", serverId)
    .execute();
  for (const { domain_id: id } of found)
    await inTransaction(db, async (tx) => {
      actAs(tx, organisationId);
      const domain = await lockDomain(tx, organisationId, id);
      if (domain === null || domain.status === "deleting") return;
      await requestDomainApply(tx, domain, bySystem(`addresses of ${serverId}`));
    });
  return found.length;
}
