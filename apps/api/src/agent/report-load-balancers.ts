import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../platform/api-request.ts";
import { type Reply, reply } from "../platform/reply.ts";
import { machinesToAsk, recordSights } from "../products/load-balancers/index.ts";
import { regionOf } from "./region.ts";

/** How often the agent begins a round. */
const roundSeconds = 30;

/** Stores what the agent saw of the region's machines, and tells it which to ask next. Wakes nothing. */
export async function reportLoadBalancers(request: ApiRequest<"reportLoadBalancers">): Promise<Reply> {
  const { db, body } = request;
  const region = regionOf(request);
  const none: Awaited<ReturnType<typeof machinesToAsk>> = { machines: [], next: null };
  const wanted = body.after === undefined ? none : await machinesToAsk(db, region, body.after);
  for (const implausible of await recordSights(db, region, body.reports))
    request.deps.log.warn({ region, ...implausible }, "a region reports implausible traffic");
  const ack: Schemas["LoadBalancerReportAck"] = { ...wanted, round_seconds: roundSeconds };
  return reply(200, ack);
}
