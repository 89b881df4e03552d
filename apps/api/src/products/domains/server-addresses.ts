import type { Database, Tx } from "../../platform/database.ts";

/** The addresses that a record set with the value auto:srv_… stands for, by server and version. */
export class ServerAddresses {
  readonly #addresses = new Map<string, string[]>();

  constructor(
    rows: readonly { readonly server_id: string; readonly version: number; readonly address: string }[],
  ) {
    for (const { server_id: id, version, address } of rows) {
      const known = this.#addresses.get(`${id} ${version}`);
      if (known === undefined) this.#addresses.set(`${id} ${version}`, [address]);
      else known.push(address);
    }
  }

  /** Of a record set of type A or AAAA; none while the server has no such address. */
  of(serverId: string, type: string): readonly string[] {
    return this.#addresses.get(`${serverId} ${type === "A" ? 4 : 6}`) ?? [];
  }
}

/** The public addresses that servers have and that their VMs were given. */
export async function readServerAddresses(
  db: Database | Tx,
  organisationId: string,
  serverIds: readonly string[],
): Promise<ServerAddresses> {
  if (serverIds.length === 0) return new ServerAddresses([]);
  const rows = await db
    .selectFrom("public_ip")
    .select(["server_id", "version", "address"])
    .where("organisation_id", "=", organisationId)
    .where("server_id", "in", serverIds)
    .where("is_applied", "=", true)
    .orderBy("address")
    .execute();
  return new ServerAddresses(
    rows.map(({ server_id, version, address }) => ({ server_id: server_id ?? "", version, address })),
  );
}
