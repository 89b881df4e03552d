import type { RequestBody, RequestQuery, Schemas } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import type { HealthCheck, Sticky } from "@kule/rules/load-balancers/intent";
import type { ListenerRequest } from "@kule/rules/load-balancers/listener";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { healthCheckOf, type ListenerBody, listenerOf } from "./fields.ts";
import type { LoadBalancerRow } from "./store.ts";

/** With the ids of its certificates, in their order. */
export type ListenerRow = Selectable<DB["listener"]> & { readonly certificate_ids: readonly string[] };
type Owner = Pick<LoadBalancerRow, "organisation_id" | "id">;
type Placed = Pick<LoadBalancerRow, "organisation_id" | "id" | "region">;

const certificateIds = sql<string[]>`array(
  select c.certificate_id from listener_certificate c
   where c.organisation_id = listener.organisation_id and c.listener_id = listener.id
   order by c.position)`;

function listeners(db: Database | Tx, organisationId: string, loadBalancerId: string) {
  return db
    .selectFrom("listener")
    .selectAll("listener")
    .select(certificateIds.as("certificate_ids"))
    .where("listener.organisation_id", "=", organisationId)
    .where("listener.load_balancer_id", "=", loadBalancerId);
}

export function listListeners(
  db: Database,
  organisationId: string,
  loadBalancerId: string,
  query: RequestQuery<"listListeners">,
): Promise<Page<ListenerRow>> {
  return fetchPage(
    listeners(db, organisationId, loadBalancerId),
    newestFirst("listeners", query, "listener"),
  );
}

export async function findListener(
  db: Database | Tx,
  organisationId: string,
  loadBalancerId: string,
  id: string,
): Promise<ListenerRow | null> {
  const row = await listeners(db, organisationId, loadBalancerId)
    .where("listener.id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/** All of a load balancer, in the order of their creation. */
export function listenersOf(db: Database | Tx, { organisation_id, id }: Owner): Promise<ListenerRow[]> {
  return listeners(db, organisation_id, id).orderBy("listener.id").execute();
}

const columnsOf = (listener: ListenerRequest) => ({
  protocol: listener.protocol,
  port: listener.port,
  target_port: listener.targetPort,
  redirect_to_https: listener.redirectToHttps,
  sticky: listener.sticky === null ? null : JSON.stringify(listener.sticky),
  proxy_protocol: listener.proxyProtocol,
  idle_timeout_seconds: listener.idleTimeoutSeconds,
  allowed_cidrs: [...listener.allowedCidrs],
  health_check: JSON.stringify(listener.healthCheck),
});

export async function insertListener(
  tx: Tx,
  owner: Placed,
  body: ListenerBody & RequestBody<"createListener">,
): Promise<ListenerRow> {
  const listener = listenerOf(body);
  const row = await tx
    .insertInto("listener")
    .values({
      id: newId("lsn"),
      organisation_id: owner.organisation_id,
      load_balancer_id: owner.id,
      ...columnsOf(listener),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return withCertificates(tx, owner, row, listener.certificateIds);
}

export async function writeListener(
  tx: Tx,
  owner: Placed,
  before: ListenerRow,
  listener: ListenerRequest,
): Promise<ListenerRow> {
  const row = await tx
    .updateTable("listener")
    .set({ ...columnsOf(listener), updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", owner.organisation_id)
    .where("id", "=", before.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  if (JSON.stringify(before.certificate_ids) === JSON.stringify(listener.certificateIds))
    return { ...row, certificate_ids: before.certificate_ids };
  await tx
    .deleteFrom("listener_certificate")
    .where("organisation_id", "=", owner.organisation_id)
    .where("listener_id", "=", before.id)
    .execute();
  return withCertificates(tx, owner, row, listener.certificateIds);
}

async function withCertificates(
  tx: Tx,
  { organisation_id, id, region }: Placed,
  row: Selectable<DB["listener"]>,
  ids: readonly string[],
): Promise<ListenerRow> {
  if (ids.length > 0)
    await tx
      .insertInto("listener_certificate")
      .values(
        ids.map((certificate_id, position) => ({
          organisation_id,
          region,
          load_balancer_id: id,
          listener_id: row.id,
          certificate_id,
          position,
        })),
      )
      .execute();
  return { ...row, certificate_ids: ids };
}

export async function deleteListenerRow(
  tx: Tx,
  { organisation_id, id }: Pick<ListenerRow, "organisation_id" | "id">,
): Promise<void> {
  await tx
    .deleteFrom("listener")
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
}

/** The stored listener as the rules know one. */
export function requestOfRow(row: ListenerRow): ListenerRequest {
  return {
    protocol: row.protocol,
    port: row.port,
    targetPort: row.target_port,
    certificateIds: row.certificate_ids,
    redirectToHttps: row.redirect_to_https,
    sticky: row.sticky as Sticky | null,
    proxyProtocol: row.proxy_protocol as ListenerRequest["proxyProtocol"],
    idleTimeoutSeconds: row.idle_timeout_seconds,
    allowedCidrs: row.allowed_cidrs,
    healthCheck: row.health_check as HealthCheck,
  };
}

/** The stored listener with what a request changes of it. */
export function changedListener(row: ListenerRow, body: ListenerBody): ListenerRequest {
  const before = requestOfRow(row);
  return {
    ...before,
    ...(body.protocol === undefined ? {} : { protocol: body.protocol }),
    ...(body.port === undefined ? {} : { port: body.port }),
    ...(body.target_port === undefined ? {} : { targetPort: body.target_port }),
    ...(body.certificate_ids === undefined ? {} : { certificateIds: body.certificate_ids }),
    ...(body.redirect_to_https === undefined ? {} : { redirectToHttps: body.redirect_to_https }),
    ...(body.sticky === undefined
      ? {}
      : {
          sticky:
            body.sticky === null
              ? null
              : { cookieName: body.sticky.cookie_name, ttlSeconds: body.sticky.ttl_seconds ?? null },
        }),
    ...(body.proxy_protocol === undefined ? {} : { proxyProtocol: body.proxy_protocol }),
    ...(body.idle_timeout_seconds === undefined ? {} : { idleTimeoutSeconds: body.idle_timeout_seconds }),
    ...(body.allowed_cidrs === undefined ? {} : { allowedCidrs: body.allowed_cidrs }),
    ...(body.health_check === undefined ? {} : { healthCheck: healthCheckOf(body.health_check) }),
  };
}

export function viewListener(row: ListenerRow): Schemas["Listener"] {
  const { sticky, healthCheck } = requestOfRow(row);
  return {
    id: row.id,
    load_balancer_id: row.load_balancer_id,
    protocol: row.protocol as Schemas["Listener"]["protocol"],
    port: row.port,
    target_port: row.target_port,
    certificate_ids: [...row.certificate_ids],
    redirect_to_https: row.redirect_to_https,
    sticky: viewSticky(sticky),
    proxy_protocol: row.proxy_protocol as Schemas["Listener"]["proxy_protocol"],
    idle_timeout_seconds: row.idle_timeout_seconds,
    allowed_cidrs: row.allowed_cidrs,
    health_check: viewHealthCheck(healthCheck),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export const viewSticky = (sticky: Sticky | null) =>
  sticky === null ? null : { cookie_name: sticky.cookieName, ttl_seconds: sticky.ttlSeconds };

export const viewHealthCheck = (check: HealthCheck): Schemas["HealthCheck"] => ({
  protocol: check.protocol,
  port: check.port,
  path: check.path,
  host: check.host,
  expected_codes: check.expectedCodes,
  interval_seconds: check.intervalSeconds,
  timeout_seconds: check.timeoutSeconds,
  healthy_threshold: check.healthyThreshold,
  unhealthy_threshold: check.unhealthyThreshold,
});
