import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { packages } from "@kule/rules/catalog/packages";
import { loadBalancerNameTaken } from "@kule/rules/load-balancers/lifecycle";
import { checkLoadBalancer } from "@kule/rules/load-balancers/load-balancer";
import { quotaExceeded } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { allocateAddress, askedBy } from "../networks/index.ts";
import { lockFreePublicIp } from "../public-ips/index.ts";
import { takeQuota } from "../quotas/index.ts";
import type { ServerHooks } from "../servers/index.ts";
import { answeredOrTried, type Written } from "./answers.ts";
import { wantedThumbprint } from "./challenge-answer.ts";
import { errorOf, listenerOf, targetOf } from "./fields.ts";
import { certificateErrors, holdCertificates } from "./listener-certificates.ts";
import { insertListener } from "./listener-store.ts";
import { makeMachine } from "./machines.ts";
import { checkPlace, findPlace, type Place, strangeServers, targetNetwork } from "./place.ts";
import { sharePublicIp, takeShared } from "./shared-public-ip.ts";
import { type LoadBalancerRow, writeLoadBalancer } from "./store.ts";
import { insertTarget } from "./target-store.ts";
import { wantedDigest } from "./wanted-digest.ts";

type Body = RequestBody<"createLoadBalancer">;
type Request = ApiRequest<"createLoadBalancer">;

export async function checkCreateLoadBalancer(request: Request, body: Partial<Body>): Promise<FieldError[]> {
  const { db, organisationId } = request;
  const { errors, place } = await checkPlace(request, body);
  const listeners = (body.listeners ?? []).map(listenerOf);
  const targets = (body.targets ?? []).map(targetOf);
  const network =
    place === null
      ? { cidrs: [], ownAddresses: [] }
      : await targetNetwork(db, organisationId, place.network_id, null);
  const checked = checkLoadBalancer({ listeners, targets }, network);
  // Without a network nothing can be said about addresses in it.
  const problems = checked.ok
    ? []
    : checked.problems.filter(({ rule }) => place !== null || rule !== "target_address_elsewhere");
  return [
    ...errors,
    ...problems.map(errorOf),
    ...(place === null ? [] : await strangers(request, place, body)),
    ...(place === null ? [] : await certificatesOf(request, place, body)),
  ];
}

async function strangers(
  { db, organisationId }: Request,
  { network_id }: Place,
  { targets = [] }: Partial<Body>,
): Promise<FieldError[]> {
  const named = targets.flatMap(({ server_id }) => server_id ?? []);
  const strange = await strangeServers(db, organisationId, network_id, named);
  return targets.flatMap(({ server_id }, index) =>
    server_id !== undefined && strange.has(server_id)
      ? [fieldError(`/targets/${index}/server_id`, "not_found", "no such server in the network")]
      : [],
  );
}

async function certificatesOf(
  { db, organisationId }: Request,
  { region }: Place,
  { listeners = [] }: Partial<Body>,
): Promise<FieldError[]> {
  const found = await Promise.all(
    listeners.map(({ certificate_ids = [] }, index) =>
      certificateErrors(db, { organisationId, region }, certificate_ids, [], `/listeners/${index}`),
    ),
  );
  return found.flat();
}

/** The load balancer, its servers with their jobs, and what it balances: all in this transaction. */
export function createLoadBalancer(
  request: Request,
  tx: Tx,
  hooks: readonly ServerHooks[],
): Promise<Outcome> {
  return answeredOrTried(request, tx, () => write(request, tx, hooks), { isNew: true });
}

async function write(request: Request, tx: Tx, hooks: readonly ServerHooks[]): Promise<Written> {
  const { body, organisationId, deps } = request;
  const place = await findPlace(tx, organisationId, body.subnet_id);
  if (place === null) throw new Invalid([fieldError("/subnet_id", "not_found", "no such subnet")]);
  const publicIp = body.public_ip === undefined || body.public_ip === "none" ? null : body.public_ip;
  const shared = body.ha === true ? publicIp : null;
  await takeQuota(tx, organisationId, { load_balancers: 1, public_ips: shared === "auto" ? 1 : 0 });
  const taken = shared === null ? null : await takeShared(tx, organisationId, place, shared);
  const row = await insertRow(request, tx, place, publicIp);
  if (row.ha) await shareAddress(tx, row);
  const inPlace = { organisationId, region: row.region };
  for (const [index, listener] of (body.listeners ?? []).entries()) {
    await holdCertificates(tx, inPlace, listener.certificate_ids ?? [], [], `/listeners/${index}`);
    await insertListener(tx, row, listener);
  }
  for (const target of body.targets ?? []) await insertTarget(tx, row, targetOf(target));
  const work = { by: askedBy(request), settings: deps.settings, hooks };
  const jobs: JobRow[] = [];
  for (const slot of row.ha ? ([1, 2] as const) : ([1] as const)) {
    await tx
      .insertInto("load_balancer_machine")
      .values({ organisation_id: organisationId, load_balancer_id: row.id, region: row.region, slot })
      .execute();
    jobs.push(await makeMachine(tx, row, slot, work, row.ha ? null : publicIp));
  }
  if (shared !== null)
    await sharePublicIp(tx, row, taken ?? (await lockFreePublicIp(tx, organisationId, shared)));
  const [job] = jobs;
  if (job === undefined) throw new Error("a load balancer without machines");
  await writeLoadBalancer(tx, row, {
    targets_digest: await wantedDigest(tx, row),
    acme_thumbprint: wantedThumbprint,
    acme_generation: row.generation,
    ...(publicIp === null || row.ha
      ? {}
      : { public_ip_id: await addressOf(tx, organisationId, job.resource_id) }),
  });
  return { row, job, kind: "ServerCreate" };
}

async function insertRow(
  { body, organisationId }: Request,
  tx: Tx,
  place: Place,
  publicIp: string | null,
): Promise<LoadBalancerRow> {
  const row = await tx
    .insertInto("load_balancer")
    .values({
      id: newId("lb"),
      organisation_id: organisationId,
      ...place,
      name: body.name,
      description: body.description ?? "",
      labels: JSON.stringify(body.labels ?? {}),
      package: body.package ?? packages[0]?.slug ?? "",
      ha: body.ha ?? false,
      vrid: body.ha === true ? await takeVrid(tx, organisationId, place.subnet_id) : null,
      algorithm: body.algorithm ?? "round_robin",
      keeps_address: publicIp !== null && publicIp !== "auto",
    })
    .onConflict((on) => on.constraint("load_balancer_name").doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw new Conflict(loadBalancerNameTaken(body.name, place.region));
  return row;
}

/** Until this transaction ends, no other one takes a number of the subnet. */
async function takeVrid(tx: Tx, organisationId: string, subnetId: string): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`vrid:${subnetId}`}, 0))`.execute(tx);
  const { rows } = await sql<{ vrid: number | null }>`
    select kule_free_vrid(${organisationId}, ${subnetId}) as vrid`.execute(tx);
  const vrid = rows[0]?.vrid ?? null;
  if (vrid !== null) return vrid;
  throw new Conflict(
    quotaExceeded("subnet_has_free_vrid", "The subnet has 255 load balancers on two servers already", {
      resource: subnetId,
      fix: "Create it in another subnet",
    }),
  );
}

async function shareAddress(tx: Tx, { organisation_id, subnet_id, id }: LoadBalancerRow): Promise<void> {
  const address = await allocateAddress(tx, {
    organisationId: organisation_id,
    subnetId: subnet_id,
    holder: { loadBalancerId: id },
    wanted: undefined,
  });
  if (address === null) throw new Invalid([fieldError("/subnet_id", "not_found", "no such subnet")]);
}

/** The public address that the machine's server was made with. */
async function addressOf(tx: Tx, organisationId: string, serverId: string): Promise<string> {
  const { id } = await tx
    .selectFrom("public_ip")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("server_id", "=", serverId)
    .executeTakeFirstOrThrow();
  return id;
}
