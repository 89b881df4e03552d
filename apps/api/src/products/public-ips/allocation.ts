import { noPublicIpAvailable } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { isFresh } from "../ip-pools/index.ts";
import { recordUsage, type UsageNote } from "../usage/index.ts";
import type { PublicIpChanges, PublicIpRow } from "./store.ts";

/*
 * The addresses that an organisation may reserve are rows that were allocated to it; reserving one is a
 * select that skips locked rows, so concurrent reservations do not wait for each other. An address that was
 * never used comes first, then the one that was released longest ago.
 */

export type PublicIpRequest = {
  readonly organisationId: string;
  readonly region: string;
  readonly version: number;
  /** This one; without it any. */
  readonly address: string | null;
  readonly more: PublicIpChanges;
};

type Found = { readonly address: string; readonly pool_id: string; readonly version: number };

/**
 * Reserves one of the addresses that are allocated to the organisation.
 *
 * @returns the new public IP's id
 * @throws Conflict `no_public_ip_available`
 */
export async function takePublicIp(tx: Tx, wish: PublicIpRequest): Promise<string> {
  // The transactions that hold the last ones may yet roll back: only then is waiting for them useful.
  const found = (await findFree(tx, wish, true)) ?? (await findFree(tx, wish, false));
  if (found === null) throw noneAvailable(wish);
  const id = newId("ip");
  await tx
    .insertInto("public_ip")
    .values({
      id,
      organisation_id: wish.organisationId,
      region: wish.region,
      pool_id: found.pool_id,
      version: found.version,
      address: found.address,
      ...wish.more,
    })
    .execute();
  await tx
    .updateTable("public_address")
    .set({ state: "used", public_ip_id: id, free_after: null })
    .where("address", "=", found.address)
    .execute();
  recordUsage(tx, ["public_ip.allocated"], {
    ...usageOf({
      id,
      organisation_id: wish.organisationId,
      region: wish.region,
      address: found.address,
      labels: JSON.parse(wish.more.labels ?? "{}"),
    }),
    job: null,
    source: "request",
  });
  return id;
}

async function findFree(tx: Tx, wish: PublicIpRequest, skipsLocked: boolean): Promise<Found | null> {
  let free = tx
    .selectFrom("public_address")
    .innerJoin("ip_pool", "ip_pool.id", "public_address.pool_id")
    .select([
      sql<string>`host(public_address.address)`.as("address"),
      "public_address.pool_id",
      "ip_pool.version",
    ])
    .where("public_address.allocated_to", "=", wish.organisationId)
    .where("ip_pool.region", "=", wish.region)
    .where(isFresh)
    .orderBy(sql`public_address.free_after nulls first`)
    .orderBy("public_address.address")
    .limit(1)
    .forUpdate("public_address");
  free =
    wish.address === null
      ? free.where("ip_pool.version", "=", wish.version)
      : free.where("public_address.address", "=", wish.address);
  if (skipsLocked) free = free.skipLocked();
  return (await free.executeTakeFirst()) ?? null;
}

/**
 * The same for an address of another organisation, a free one outside the allocation and a used one: the
 * answer does not reveal which.
 */
function noneAvailable({ region, version, address }: PublicIpRequest): Conflict {
  return new Conflict(
    noPublicIpAvailable(
      "organisation_has_free_public_ip",
      address === null
        ? `The organisation has no free public IPv${version} address in region ${region}; ask the operator to allocate one`
        : `${address} is not an address that the organisation may take in region ${region}; ask the operator to allocate it`,
      {
        resource: region,
        fix: "Ask an operator of the installation to allocate an address to the organisation",
      },
    ),
  );
}

/**
 * Releases the address: it goes into quarantine, and stays allocated to the organisation. Its row must be
 * locked, and no server may have it.
 */
export async function releasePublicIp(
  tx: Tx,
  ip: PublicIpRow,
  quarantineSeconds: number,
  by: Pick<UsageNote, "job" | "source">,
): Promise<void> {
  const { id, organisation_id: organisationId } = ip;
  await tx
    .updateTable("public_address")
    .set({
      state: "quarantined",
      public_ip_id: null,
      free_after: sql<Date>`clock_timestamp() + make_interval(secs => ${quarantineSeconds})`,
    })
    .where("allocated_to", "=", organisationId)
    .where("public_ip_id", "=", id)
    .execute();
  await tx
    .deleteFrom("public_ip")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
  recordUsage(tx, ["public_ip.released"], { ...usageOf(ip), ...by });
}

export function usageOf(
  ip: Pick<PublicIpRow, "id" | "organisation_id" | "region" | "address" | "labels">,
): Omit<UsageNote, "job" | "source"> {
  return {
    organisationId: ip.organisation_id,
    region: ip.region,
    resource: { type: "public_ip", id: ip.id, name: ip.address },
    package: null,
    quantity: { count: 1 },
    labels: ip.labels as object,
  };
}
