import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import {
  formatIp,
  type IpNetwork,
  type IpRange,
  isSpecial,
  isWithin,
  maxRangeSize,
  networkRange,
  parseIp,
  parseIpBlock,
  rangeSize,
  reservedAddresses,
} from "@kule/rules/public-ips/addresses";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { rangesOverlap } from "./conflicts.ts";
import { findIpPoolRange, type IpPoolDetails, type IpPoolRow, lockIpPool } from "./store.ts";
import { viewIpPoolRange } from "./view.ts";

type Body = Partial<RequestBody<"addIpPoolRange">>;

export function checkAddIpPoolRange(
  _request: ApiRequest<"addIpPoolRange">,
  body: Body,
  pool: IpPoolDetails,
): FieldError[] {
  const range = readRange(body);
  if ("errors" in range) return range.errors;
  const pointer = body.cidr === undefined ? "/start" : "/cidr";
  const network = networkOf(pool);
  if (!isWithin(range.range, networkRange(network)))
    return [
      fieldError(
        pointer,
        "out_of_range",
        `must be in the pool's network, ${formatIp({ ...network.gateway, value: networkRange(network).first })}/${network.prefixLength}`,
      ),
    ];
  if (rangeSize(range.range) > maxRangeSize)
    return [fieldError(pointer, "too_long", `has more than ${maxRangeSize} addresses`)];
  // Addresses that no guest can have come in blocks larger than a range may be, or at its very beginning: an
  // end would be in one.
  const { version, first, last } = range.range;
  if ([first, last].some((value) => isSpecial({ version, value })))
    return [fieldError(pointer, "out_of_range", "holds addresses that no guest can have")];
  return [];
}

function readRange({ cidr, start, end }: Body): { range: IpRange } | { errors: FieldError[] } {
  if (cidr !== undefined) {
    const errors = [
      ...(start === undefined ? [] : [fieldError("/start", "conflicts_with", "cannot go with cidr")]),
      ...(end === undefined ? [] : [fieldError("/end", "conflicts_with", "cannot go with cidr")]),
    ];
    const range = parseIpBlock(cidr);
    if (range === null)
      errors.push(fieldError("/cidr", "invalid_format", "is not a block such as 203.0.113.0/25"));
    return range === null || errors.length > 0 ? { errors } : { range };
  }
  const errors: FieldError[] = [];
  const read = (name: "start" | "end", text: string | undefined) => {
    const address = text === undefined ? null : parseIp(text);
    if (text === undefined)
      errors.push(fieldError(`/${name}`, "required", "is required, unless cidr is given"));
    else if (address === null)
      errors.push(
        fieldError(`/${name}`, "invalid_format", "is not an address such as 203.0.113.7 or 2001:db8::7"),
      );
    return address;
  };
  const [first, last] = [read("start", start), read("end", end)];
  if (first === null || last === null) return { errors };
  if (first.version !== last.version || first.value > last.value)
    return { errors: [fieldError("/end", "out_of_range", "must not be before start")] };
  return { range: { version: first.version, first: first.value, last: last.value } };
}

function networkOf(pool: IpPoolRow): IpNetwork {
  const gateway = parseIp(pool.gateway);
  if (gateway === null) throw new Error(`pool ${pool.id} has the gateway ${pool.gateway}`);
  return { gateway, prefixLength: pool.prefix_length };
}

/** Writes a row for each address; those that cannot be used are reserved. */
export async function addIpPoolRange(
  { body }: ApiRequest<"addIpPoolRange">,
  tx: Tx,
  { id: poolId }: IpPoolDetails,
): Promise<Outcome> {
  const pool = await lockIpPool(tx, poolId);
  if (pool === null) throw new NotFound();
  const read = readRange(body);
  if ("errors" in read) throw new Invalid(read.errors);
  const { range } = read;
  const text = (value: bigint) => formatIp({ version: range.version, value });
  const [first, last] = [text(range.first), text(range.last)];
  const overlapped = await findOverlap(tx, first, last);
  if (overlapped !== null) throw rangesOverlap(overlapped);
  const id = newId("rng");
  await tx
    .insertInto("ip_pool_range")
    .values({ id, pool_id: poolId, first_address: first, last_address: last })
    .execute();
  const reserved = reservedAddresses(networkOf(pool)).map(text);
  await sql`
    insert into public_address (address, pool_id, range_id, state)
    select a.address, ${poolId}, ${id}, case when a.address = any (${reserved}::inet[]) then 'reserved' else 'free' end
      from (select ${first}::inet + n as address from generate_series(0, ${Number(rangeSize(range) - 1n)}::integer) n) a
     order by a.address`
    .execute(tx)
    .catch((error: unknown) => {
      // Added to another pool between our check and our insert.
      if (violatedConstraint(error) === "public_address_pkey") throw rangesOverlap(null);
      throw error;
    });
  const row = await findIpPoolRange(tx, poolId, id);
  if (row === null) throw new Error("a range that was just added could not be found");
  return {
    reply: reply(201, viewIpPoolRange(row), { Location: `/api/v1/ip-pools/${poolId}/ranges/${id}` }),
    resource: id,
    details: { pool: poolId, start: first, end: last },
  };
}

async function findOverlap(tx: Tx, first: string, last: string) {
  const row = await tx
    .selectFrom("ip_pool_range")
    .select(["id", sql<string>`host(first_address) || ' to ' || host(last_address)`.as("text")])
    .where("first_address", "<=", last)
    .where("last_address", ">=", first)
    .orderBy("first_address")
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}
