import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { JobEnd } from "../../platform/job-handler.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { lockNetwork, type HookedNetwork as Network } from "../networks/index.ts";
import { lockPublicIp, releasePublicIp } from "../public-ips/index.ts";
import { nextGeneration, queueEdgeJob } from "./answer.ts";
import { keptForwardsTo, leavePortForwards } from "./forward-store.ts";
import { changeGatewayRow, type GatewayRow, gatewayIn, lockGatewayOf } from "./store.ts";

/**
 * Its address is released when the edge has removed it, and usage locks the organisation's row: before the
 * network's.
 */
export async function lockBeforeNetwork(tx: Tx, { organisation_id, id }: Network): Promise<void> {
  const gateway = await gatewayIn(tx, organisation_id, id);
  if (gateway?.is_deleting !== true) return;
  await tx
    .selectFrom("organisation")
    .select("id")
    .where("id", "=", organisation_id)
    .forNoKeyUpdate()
    .execute();
}

/**
 * The edge has the network as it was wanted at a generation. What was wanted by then is in force, and what
 * was to be removed by then is gone; only now is an address free that might still have been reachable. The
 * network's row must be locked.
 */
export async function settleGateway(
  tx: Tx,
  network: Network,
  applied: number,
  job: JobRow,
  settings: Settings,
): Promise<void> {
  const gateway = await lockGatewayOf(tx, network.organisation_id, network.id);
  if (gateway === null) return;
  await letGo(tx, gateway, applied);
  for (const table of ["gateway_subnet", "port_forward"] as const)
    await tx
      .updateTable(table)
      .set({ is_applied: true })
      .where("organisation_id", "=", gateway.organisation_id)
      .where("gateway_id", "=", gateway.id)
      .where("wanted_generation", "<=", applied)
      .execute();
  if (gateway.wanted_generation > applied) return;
  if (gateway.is_deleting) return gone(tx, gateway, job, settings);
  await tx
    .updateTable("gateway")
    .set({
      observed_generation: sql<number>`generation`,
      status_code: null,
      status_message: null,
      status_job_id: null,
    })
    .where("organisation_id", "=", gateway.organisation_id)
    .where("id", "=", gateway.id)
    .execute();
}

/** Forwards before subnets: they point at them. */
async function letGo(tx: Tx, { organisation_id, id }: GatewayRow, applied: number): Promise<void> {
  for (const table of ["port_forward", "gateway_subnet"] as const)
    await tx
      .deleteFrom(table)
      .where("organisation_id", "=", organisation_id)
      .where("gateway_id", "=", id)
      .where("left_generation", "<=", applied)
      .execute();
}

async function gone(tx: Tx, gateway: GatewayRow, job: JobRow, settings: Settings): Promise<void> {
  const { organisation_id: organisationId, id } = gateway;
  const held = await tx
    .updateTable("public_ip")
    .set({ gateway_id: null, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("gateway_id", "=", id)
    .returning("id")
    .executeTakeFirstOrThrow();
  await tx.deleteFrom("gateway").where("organisation_id", "=", organisationId).where("id", "=", id).execute();
  const ip = await lockPublicIp(tx, organisationId, held.id);
  // An address that the gateway was created with, or that is protected, stays the organisation's.
  if (ip === null || ip.protect_delete || gateway.keeps_address) return;
  await releasePublicIp(tx, ip, settings.addressQuarantineSeconds, { job, source: "verify" });
}

/** No job that waits brings what this one has not brought. */
export async function failGateway(tx: Tx, network: Network, job: JobRow, end: JobEnd): Promise<void> {
  await tx
    .updateTable("gateway")
    .set({ status_code: "apply_failed", status_message: end.message, status_job_id: job.id })
    .where("organisation_id", "=", network.organisation_id)
    .where("network_id", "=", network.id)
    .where((is) =>
      is.or([is("is_deleting", "=", true), is("observed_generation", "<", is.ref("generation"))]),
    )
    .execute();
}

/** The job that has failed waits again. */
export async function retryGateway(tx: Tx, network: Network): Promise<void> {
  await tx
    .updateTable("gateway")
    .set({ status_code: null, status_message: null, status_job_id: null })
    .where("organisation_id", "=", network.organisation_id)
    .where("network_id", "=", network.id)
    .execute();
}

/**
 * A server is gone, and with it what was forwarded to it: its address may be another server's one day. It is
 * free only after the edge has removed the forward, which `allocateAddress` checks. The server's row must be
 * locked, and no network's.
 */
export async function dropForwardsTo(
  tx: Tx,
  server: { readonly id: string; readonly organisation_id: string },
  job: JobRow,
): Promise<void> {
  const { organisation_id: organisationId } = server;
  const forwards = await keptForwardsTo(tx, organisationId, server.id);
  for (const networkId of new Set(forwards.map(({ network_id }) => network_id))) {
    const network = await lockNetwork(tx, organisationId, networkId);
    const gateway = await lockGatewayOf(tx, organisationId, networkId);
    if (network === null || gateway === null) continue;
    const ids = forwards.filter(({ gateway_id }) => gateway_id === gateway.id).map(({ id }) => id);
    await leavePortForwards(tx, organisationId, ids, nextGeneration(network));
    await changeGatewayRow(tx, gateway, {}, nextGeneration(network));
    await queueEdgeJob(tx, gateway, {
      requestedBy: { type: "system", id: null, name: `after ${job.id}` },
      requestId: newId("req"),
    });
  }
}
