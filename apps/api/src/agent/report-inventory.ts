import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../platform/api-request.ts";
import { fieldError } from "../platform/errors.ts";
import { type Reply, reply } from "../platform/reply.ts";
import { inTransaction } from "../platform/transaction.ts";
import { type BatchNews, beginPass, recordBatch } from "../products/inventory/index.ts";
import { regionOf } from "./region.ts";

type Request = ApiRequest<"reportInventory">;

/**
 * Rules that the contract cannot express: what belongs to a scan needs its number, and what was seen has a
 * power state.
 */
export function checkInventory(
  _request: Request,
  body: Partial<RequestBody<"reportInventory">>,
): FieldError[] {
  const errors: FieldError[] = [];
  const isReport = body.vms !== undefined || body.absent !== undefined || body.end !== undefined;
  if (isReport && body.pass === undefined)
    errors.push(fieldError("/pass", "required", "is required with vms, absent or end"));
  for (const [index, vm] of (body.vms ?? []).entries())
    if (vm.state === "seen" && vm.power === undefined)
      errors.push(fieldError(`/vms/${index}/power`, "required", "is required of what was seen"));
  return errors;
}

/** Starts a scan, or records a batch of one: all of it in one transaction. */
export async function reportInventory(request: Request): Promise<Reply> {
  const { db, body } = request;
  const region = regionOf(request);
  const { pass } = body;
  if (pass === undefined) return reply(200, await inTransaction(db, (tx) => beginPass(tx, region, body)));
  const news = await inTransaction(db, (tx) => recordBatch(tx, region, body));
  tell(request, region, news);
  const ack: Schemas["InventoryAck"] = {
    pass,
    recorded: news.recorded,
    look_for: [],
    next_in_seconds: body.every_seconds ?? 30,
  };
  return reply(200, ack);
}

/** News for operators: logged once, when it begins and when it ends. */
function tell(
  { deps: { log } }: Request,
  region: string,
  { power, drift, resolved, passEnded }: BatchNews,
): void {
  for (const each of power) log.info({ region, ...each }, "a server's status follows its VM");
  for (const each of drift) log.warn({ region, ...each }, "a region differs from the records");
  for (const each of resolved) log.info({ region, ...each }, "a region matches the records again");
  if (passEnded !== null && passEnded.implausible.length > 0)
    log.warn(
      { region, implausible: passEnded.implausible.slice(0, 20) },
      "a region reports implausible figures",
    );
  if (passEnded !== null && !passEnded.complete)
    log.debug({ region, trouble: passEnded.trouble }, "a scan of a region was incomplete");
}
