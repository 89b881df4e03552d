import type { Schemas } from "@kule/contract/schemas";
import { consoleLimits } from "@kule/rules/consoles/console";
import { regionOf } from "../../agent/region.ts";
import type { ApiRequest } from "../../platform/api-request.ts";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { listenFor } from "../../platform/news.ts";
import { noContent, type Reply, reply } from "../../platform/reply.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { type SessionRow, takeWaiting } from "./store.ts";

type Claimed = Schemas["ClaimedConsole"]["console"];

/**
 * A NOTIFY can be lost with its connection: a waiting claim checks again at this interval even without one.
 */
const recheckMs = 2_000;

/** Assigns the region's next session to the agent, or waits for one. */
export async function claimConsole(request: ApiRequest<"claimConsole">): Promise<Reply> {
  const { deps, body } = request;
  const region = regionOf(request);
  const deadline = performance.now() + (body.wait_seconds ?? 0) * 1000;
  const gone = AbortSignal.any([deps.stopping, disconnected(request)]);
  const news = listenFor(deps.notifications, "kule_console", (payload) => payload === `region:${region}`);
  try {
    for (;;) {
      const claimed = await claimOnce(request, region);
      if (claimed !== null) return reply(200, { console: claimed });
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || gone.aborted) return noContent();
      await news.next(Math.min(leftMs, recheckMs), gone);
    }
  } finally {
    news.dispose();
  }
}

const disconnected = (request: ApiRequest<"claimConsole">): AbortSignal => request.context.req.raw.signal;

/** The agent has closed the connection during the search: it is stopping, or was killed. */
class CallerDisconnected extends Error {}

/**
 * The same claim may arrive twice concurrently; the index on claims gives the session to one, and the other
 * checks again.
 */
async function claimOnce(request: ApiRequest<"claimConsole">, region: string): Promise<Claimed | null> {
  const look = () =>
    inTransaction(request.db, async (tx) => {
      const claim = { region, claimId: request.body.claim_id, tokenId: request.caller.tokenId };
      const session = await takeWaiting(tx, claim);
      // Rolled back, the session waits for the next agent; given to nobody, it would end unanswered.
      if (session !== null && disconnected(request).aborted) throw new CallerDisconnected();
      return session === null ? null : render(tx, session);
    }).catch((error: unknown) => {
      if (error instanceof CallerDisconnected) return null;
      throw error;
    });
  try {
    return await look();
  } catch (error) {
    if (violatedConstraint(error) !== "console_session_claim") throw error;
    return look();
  }
}

async function render(tx: Tx, session: SessionRow): Promise<Claimed> {
  const server = await systemQuery(tx, "the session names organisation and server")
    .selectFrom("server")
    .innerJoin("region_vmid", "region_vmid.server_id", "server.id")
    .select(["server.id", "server.organisation_id", "server.name", "region_vmid.vmid"])
    .where("server.organisation_id", "=", session.organisation_id)
    .where("server.id", "=", session.server_id)
    .where("region_vmid.state", "=", "used")
    .executeTakeFirstOrThrow();
  return {
    kind: "ConsoleOpen",
    session_id: session.id,
    type: session.type as Claimed["type"],
    server: { id: server.id, organisation_id: server.organisation_id, name: server.name },
    vmid: server.vmid,
    connect_seconds: consoleLimits.connectSeconds,
  };
}
