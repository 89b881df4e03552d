import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { formatIp, parseIp } from "@kule/rules/public-ips/addresses";
import { noPublicIpAvailable } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { type IpPoolDetails, isFresh, lockIpPool } from "./store.ts";

type Body = Partial<RequestBody<"allocateIpPoolAddresses">>;

export async function checkAllocateIpPoolAddresses(
  request: ApiRequest<"allocateIpPoolAddresses">,
  body: Body,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  const { organisation_id: organisationId, count, addresses } = body;
  if (organisationId !== undefined && (await findOrganisation(request.db, organisationId)) === null)
    errors.push(fieldError("/organisation_id", "not_found", "no such organisation"));
  if (count !== undefined && addresses !== undefined)
    errors.push(fieldError("/addresses", "conflicts_with", "cannot go with count"));
  if (count === undefined && addresses === undefined)
    errors.push(fieldError("/count", "required", "is required, unless addresses are given"));
  const seen = new Set<string>();
  for (const [index, text] of (addresses ?? []).entries()) {
    const address = parseIp(text);
    const usual = address === null ? null : formatIp(address);
    if (usual === null)
      errors.push(
        fieldError(
          `/addresses/${index}`,
          "invalid_format",
          "is not an address such as 203.0.113.7 or 2001:db8::7",
        ),
      );
    else if (seen.has(usual))
      errors.push(fieldError(`/addresses/${index}`, "duplicate", "is in the list twice"));
    else seen.add(usual);
  }
  return errors;
}

/** Allocates addresses of the pool to the organisation: as many as were requested, or none. */
export async function allocateIpPoolAddresses(
  { body }: ApiRequest<"allocateIpPoolAddresses">,
  tx: Tx,
  { id: poolId }: IpPoolDetails,
): Promise<Outcome> {
  const pool = await lockIpPool(tx, poolId);
  if (pool === null) throw new NotFound();
  const organisation = await findOrganisation(tx, body.organisation_id);
  if (organisation === null)
    throw new Invalid([fieldError("/organisation_id", "not_found", "no such organisation")]);
  const wanted = body.addresses ?? null;
  let stock = tx
    .selectFrom("public_address")
    .select("public_address.address")
    .where("pool_id", "=", poolId)
    .where("allocated_to", "is", null)
    .where(isFresh);
  stock =
    wanted === null
      ? stock
          .orderBy(sql`free_after nulls first`)
          .orderBy("address")
          .limit(body.count ?? 0)
      : stock.where("address", "in", wanted);
  const given = await tx
    .updateTable("public_address")
    .set({ allocated_to: organisation.id })
    .where("address", "in", stock)
    .returning(["seq", sql<string>`host(address)`.as("address")])
    .execute();
  const asked = wanted?.length ?? body.count ?? 0;
  if (given.length < asked) throw notEnough(pool.name, poolId, asked, given.length, wanted !== null);
  const addresses = given.sort((a, b) => Number(a.seq) - Number(b.seq)).map(({ address }) => address);
  const answer: Schemas["IpPoolAllocations"] = { pool_id: poolId, organisation, addresses };
  return {
    reply: reply(201, answer, { Location: `/api/v1/ip-pools/${poolId}/allocations` }),
    resource: poolId,
    details: { organisation: organisation.id, addresses: addresses.slice(0, 100) },
  };
}

function notEnough(name: string, poolId: string, asked: number, free: number, byName: boolean) {
  return new Conflict(
    noPublicIpAvailable(
      "ip_pool_has_free_addresses",
      byName
        ? `${asked - free} of the ${asked} addresses are not free in pool ${name}`
        : `pool ${name} has ${free} free addresses, not ${asked}`,
      { resource: poolId, fix: `POST /ip-pools/${poolId}/ranges to add addresses` },
    ),
  );
}

async function findOrganisation(db: Database | Tx, id: string) {
  if (!isId("org", id)) return null;
  const row = await db
    .selectFrom("organisation")
    .select(["id", "slug", "name"])
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}
