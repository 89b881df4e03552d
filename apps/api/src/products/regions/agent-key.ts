import { invalidState } from "@kule/rules/refusals";
import { keyFingerprint } from "@kule/sealed-secret/key-fingerprint";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { findRegion, lockRegion, type RegionDetails } from "./store.ts";
import { viewRegion } from "./view.ts";

/** Secrets are sealed to the key that waits from now on. Those that were sealed before are for the key before. */
export async function approveAgentKey(
  request: ApiRequest<"approveAgentKey">,
  tx: Tx,
  { slug }: RegionDetails,
): Promise<Outcome> {
  const { fingerprint } = request.body;
  const pending = await lockPending(tx, slug);
  if (pending === null || keyFingerprint(pending) !== fingerprint) throw isNotPending(slug);
  await tx
    .updateTable("region")
    .set({
      agent_public_key: pending,
      agent_key_since: sql<Date>`clock_timestamp()`,
      agent_key_seen_at: sql<Date>`pending_agent_key_seen_at`,
      ...noPending,
    })
    .where("slug", "=", slug)
    .execute();
  return answer(tx, slug, fingerprint);
}

/** Deletes the key that waits. */
export async function refuseAgentKey(
  _request: ApiRequest<"refuseAgentKey">,
  tx: Tx,
  { slug }: RegionDetails,
): Promise<Outcome> {
  const pending = await lockPending(tx, slug);
  if (pending === null) throw isNotPending(slug);
  await tx.updateTable("region").set(noPending).where("slug", "=", slug).execute();
  return answer(tx, slug, keyFingerprint(pending));
}

const noPending = {
  pending_agent_key: null,
  pending_agent_key_since: null,
  pending_agent_key_seen_at: null,
  pending_agent_key_token: null,
  pending_agent_key_agent: null,
};

async function lockPending(tx: Tx, slug: string): Promise<string | null> {
  const region = await lockRegion(tx, slug);
  if (region === null) throw new NotFound();
  return region.pending_agent_key;
}

const isNotPending = (slug: string) =>
  new Conflict(
    invalidState("agent_key_is_pending", `No such key of an agent of region ${slug} waits`, {
      resource: slug,
      fix: "Read the region again: agent_key.pending is the key that waits now",
    }),
  );

async function answer(tx: Tx, slug: string, fingerprint: string): Promise<Outcome> {
  const region = await findRegion(tx, slug);
  if (region === null) throw new Error("a region that was just changed could not be found");
  return { reply: reply(200, viewRegion(region)), resource: slug, details: { fingerprint } };
}
