import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideCreateGateway } from "@kule/rules/gateways/lifecycle";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { findNetwork, lockNetwork, type NetworkRow } from "../networks/index.ts";
import { findPublicIp, givePublicIp, lockFreePublicIp, takePublicIp } from "../public-ips/index.ts";
import { takeQuota } from "../quotas/index.ts";
import { answerWithEdgeJob, nextGeneration } from "./answer.ts";
import { gatewayNameTaken } from "./conflicts.ts";
import { servableSubnets } from "./facts.ts";
import { gatewayIn } from "./store.ts";
import { serve } from "./subnets.ts";

type Body = RequestBody<"createGateway">;

export async function checkCreateGateway(
  request: ApiRequest<"createGateway">,
  body: Partial<Body>,
): Promise<FieldError[]> {
  const { db, organisationId } = request;
  if (body.network_id === undefined) return [];
  const network = isId("net", body.network_id)
    ? await findNetwork(db, organisationId, body.network_id)
    : null;
  if (network === null) return [fieldError("/network_id", "not_found", "no such network")];
  const known = await servableSubnets(db, organisationId, network.id);
  return [...strangers(body.subnet_ids ?? [], known), ...(await addressErrors(request, body, network))];
}

async function addressErrors(
  { db, organisationId }: ApiRequest<"createGateway">,
  { public_ip: wanted, address }: Partial<Body>,
  { region }: NetworkRow,
): Promise<FieldError[]> {
  if (wanted === undefined || wanted === "auto") return [];
  const wrong = (code: "not_found" | "conflicts_with", message: string) => [
    fieldError("/public_ip", code, message),
  ];
  const ip = isId("ip", wanted) ? await findPublicIp(db, organisationId, wanted) : null;
  if (ip === null) return wrong("not_found", "no such public IP");
  if (address !== undefined) return wrong("conflicts_with", "is another address than the one in address");
  if (ip.region !== region) return wrong("conflicts_with", `is not in region ${region}`);
  return ip.version === 4 ? [] : wrong("conflicts_with", "is no IPv4 address");
}

function strangers(ids: readonly string[], known: readonly { readonly id: string }[]): FieldError[] {
  return ids.flatMap((id, index) =>
    known.some((subnet) => subnet.id === id)
      ? []
      : fieldError(`/subnet_ids/${index}`, "not_found", "no such subnet in the network"),
  );
}

/**
 * An address is allocated before the network's row is locked, as everywhere: usage locks the organisation's
 * row, which comes before it. An address that existed before is locked after the network, as at the end of
 * its job. So the preconditions are checked twice; the first time is for a better answer than "no address".
 */
export async function createGateway(request: ApiRequest<"createGateway">, tx: Tx): Promise<Outcome> {
  const { body, organisationId } = request;
  const found = await findNetwork(tx, organisationId, body.network_id);
  if (found === null) throw networkGone();
  await refuse(tx, found, body);
  const brought = body.public_ip === undefined || body.public_ip === "auto" ? null : body.public_ip;
  await takeQuota(tx, organisationId, { gateways: 1, public_ips: brought === null ? 1 : 0 });
  const taken =
    brought === null
      ? await takePublicIp(tx, {
          organisationId,
          region: found.region,
          version: 4,
          address: body.address ?? null,
          more: {},
        })
      : null;
  const network = await lockNetwork(tx, organisationId, found.id);
  if (network === null) throw networkGone();
  await refuse(tx, network, body);
  const row = await tx
    .insertInto("gateway")
    .values({
      id: newId("gw"),
      organisation_id: organisationId,
      region: network.region,
      network_id: network.id,
      name: body.name,
      description: body.description ?? "",
      labels: JSON.stringify(body.labels ?? {}),
      wanted_generation: nextGeneration(network),
      keeps_address: brought !== null,
    })
    .onConflict((on) => on.constraint("gateway_name").doNothing())
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw gatewayNameTaken(body.name, network.region);
  const publicIpId = taken ?? (await lockFreePublicIp(tx, organisationId, brought ?? ""));
  await givePublicIp(tx, organisationId, publicIpId, { gateway_id: row.id });
  for (const subnetId of body.subnet_ids ?? []) await serve(tx, row, subnetId, nextGeneration(network));
  return answerWithEdgeJob(request, tx, row, { isNew: true });
}

/** @throws Conflict for each precondition that fails */
async function refuse(tx: Tx, network: NetworkRow, body: Body): Promise<void> {
  const subnets = await servableSubnets(tx, network.organisation_id, network.id);
  // One may have been deleted since it was read.
  const gone = strangers(body.subnet_ids ?? [], subnets);
  if (gone.length > 0) throw new Invalid(gone);
  const other = await gatewayIn(tx, network.organisation_id, network.id);
  const [refusal] = decideCreateGateway({
    region: await regionFacts(tx, network.region),
    network: {
      id: network.id,
      isDeleting: network.status === "deleting",
      gateway: other === null ? null : { id: other.id, isDeleting: other.is_deleting },
    },
    subnets: subnets.filter(({ id }) => body.subnet_ids?.includes(id)),
  });
  if (refusal !== undefined) throw new Conflict(refusal);
}

async function regionFacts(db: Database | Tx, slug: string) {
  const { maintenance, has_edge } = await db
    .selectFrom("region")
    .select(["maintenance", "has_edge"])
    .where("slug", "=", slug)
    .executeTakeFirstOrThrow();
  return { slug, maintenance, hasEdge: has_edge };
}

const networkGone = () => new Invalid([fieldError("/network_id", "not_found", "no such network")]);
