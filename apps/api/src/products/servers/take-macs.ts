import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { ServerRow } from "./store.ts";

const macPattern = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;

/**
 * An adopted VM keeps its MACs: its guest's network depends on them. A MAC that another interface of the
 * region has stays unchanged in the VM, and is reported as drift.
 */
export async function takeMacs(tx: Tx, job: JobRow, server: ServerRow): Promise<void> {
  const { result } = await tx
    .selectFrom("job")
    .select("result")
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .executeTakeFirstOrThrow();
  const macs = (result as { macs?: readonly (string | null)[] } | null)?.macs ?? [];
  const brought = macs.flatMap((mac, position) =>
    mac !== null && macPattern.test(mac) ? [{ position, mac: mac.toLowerCase() }] : [],
  );
  // In one order, so that two imports of VMs with the same MACs never wait for each other in a circle.
  for (const each of brought.toSorted((one, other) => (one.mac < other.mac ? -1 : 1)))
    await takeMac(tx, server, each);
}

/**
 * Only the index decides which one is first: another organisation's interface is not visible here, and an
 * uncommitted one is visible to no other transaction. The second waits for the first, and keeps the MAC of
 * its number.
 */
async function takeMac(
  tx: Tx,
  server: ServerRow,
  { position, mac }: { readonly position: number; readonly mac: string },
): Promise<void> {
  await sql`savepoint take_mac`.execute(tx);
  try {
    await tx
      .updateTable("nic")
      .set({ mac })
      .where("organisation_id", "=", server.organisation_id)
      .where("server_id", "=", server.id)
      .where("position", "=", position)
      .execute();
    await sql`release savepoint take_mac`.execute(tx);
  } catch (error) {
    if (violatedConstraint(error) !== "nic_mac") throw error;
    await sql`rollback to savepoint take_mac`.execute(tx);
  }
}
