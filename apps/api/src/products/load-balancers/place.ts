import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { TargetNetwork } from "@kule/rules/load-balancers/target";
import { serverNameProblem } from "@kule/rules/servers/naming";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { fieldError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { findSubnet } from "../networks/index.ts";
import { findPublicIp } from "../public-ips/index.ts";
import { packageErrors } from "./fields.ts";
import { machineName } from "./machines.ts";
import type { LoadBalancerDetails } from "./store.ts";

type Body = Partial<RequestBody<"createLoadBalancer">>;
export type Place = { readonly subnet_id: string; readonly network_id: string; readonly region: string };

/** What the body of a create names around its listeners and targets, and what is wrong with it. */
export async function checkPlace(
  { db, organisationId }: Pick<ApiRequest, "db" | "organisationId">,
  body: Body,
): Promise<{ readonly errors: FieldError[]; readonly place: Place | null }> {
  const errors: FieldError[] = [...nameErrors(body.name), ...packageErrors(body.package)];
  const place = await findPlace(db, organisationId, body.subnet_id);
  if (body.subnet_id !== undefined && place === null)
    errors.push(fieldError("/subnet_id", "not_found", "no such subnet"));
  errors.push(...(await addressErrors(db, organisationId, body.public_ip, place)));
  return { errors, place };
}

/** Its servers are named after it, and those that replace them later, too. */
export function nameErrors(name: string | undefined): FieldError[] {
  const problem = name === undefined ? null : serverNameProblem(machineName(name, 1));
  return problem === null ? [] : [fieldError("/name", "invalid_format", problem)];
}

export async function findPlace(
  db: Database | Tx,
  organisationId: string,
  subnetId: string | undefined,
): Promise<Place | null> {
  if (subnetId === undefined || !isId("sub", subnetId)) return null;
  const subnet = await findSubnet(db, organisationId, subnetId);
  return subnet === null
    ? null
    : { subnet_id: subnet.id, network_id: subnet.network_id, region: subnet.region };
}

async function addressErrors(
  db: Database | Tx,
  organisationId: string,
  wanted: string | undefined,
  place: Place | null,
): Promise<FieldError[]> {
  if (wanted === undefined || wanted === "none" || wanted === "auto") return [];
  const wrong = (code: FieldError["code"], message: string) => [fieldError("/public_ip", code, message)];
  const ip = isId("ip", wanted) ? await findPublicIp(db, organisationId, wanted) : null;
  if (ip === null) return wrong("not_found", "no such public IP");
  if (place !== null && ip.region !== place.region)
    return wrong("conflicts_with", `is not in region ${place.region}`);
  return ip.version === 4 ? [] : wrong("conflicts_with", "is no IPv4 address");
}

/** The network that targets are in. */
export async function targetNetwork(
  db: Database | Tx,
  organisationId: string,
  networkId: string,
  loadBalancer: LoadBalancerDetails | null,
): Promise<TargetNetwork> {
  const subnets = await db
    .selectFrom("subnet")
    .select("cidr")
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", networkId)
    .execute();
  const own = [
    loadBalancer?.shared_address,
    loadBalancer?.public_address,
    ...(loadBalancer?.machines ?? []).map(({ private_ip }) => private_ip),
  ];
  return { cidrs: subnets.map(({ cidr }) => String(cidr)), ownAddresses: own.filter((each) => each != null) };
}

/** Servers that targets name, and that are not there: of the network, and nobody's but the organisation's. */
export async function strangeServers(
  db: Database | Tx,
  organisationId: string,
  networkId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const named = ids.filter((id) => isId("srv", id));
  const rows =
    named.length === 0
      ? []
      : await db
          .selectFrom("server")
          .innerJoin("nic", (join) =>
            join
              .onRef("nic.organisation_id", "=", "server.organisation_id")
              .onRef("nic.server_id", "=", "server.id"),
          )
          .innerJoin("subnet", (join) =>
            join
              .onRef("subnet.organisation_id", "=", "nic.organisation_id")
              .onRef("subnet.id", "=", "nic.subnet_id"),
          )
          .select("server.id")
          .where("server.organisation_id", "=", organisationId)
          .where("server.id", "in", named)
          .where("server.deleted_at", "is", null)
          .where("server.managed_by_type", "is", null)
          .where("subnet.network_id", "=", networkId)
          .execute();
  const known = new Set(rows.map(({ id }) => id));
  return new Set(ids.filter((id) => !known.has(id)));
}
