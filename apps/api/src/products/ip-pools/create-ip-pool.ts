import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { gatewayProblem, isSpecial, parseIp, prefixProblem } from "@kule/rules/public-ips/addresses";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { findRegion, lockRegion } from "../regions/index.ts";
import { poolNameTaken } from "./conflicts.ts";
import { reverseNameErrors, storedReverseName } from "./reverse-name.ts";
import { findIpPool, insertIpPool } from "./store.ts";
import { viewIpPool } from "./view.ts";

export async function checkCreateIpPool(
  request: ApiRequest<"createIpPool">,
  body: Partial<RequestBody<"createIpPool">>,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  const region = body.region === undefined ? null : await findRegion(request.db, body.region);
  if (body.region !== undefined && region === null)
    errors.push(fieldError("/region", "not_found", "no such region"));
  const gateway = body.gateway === undefined ? null : parseIp(body.gateway);
  if (body.gateway !== undefined && (gateway === null || isSpecial(gateway)))
    errors.push(
      fieldError(
        "/gateway",
        "invalid_format",
        "is not an address that guests could reach, such as 203.0.113.1",
      ),
    );
  if (gateway !== null && body.prefix_length !== undefined) {
    const network = { gateway, prefixLength: body.prefix_length };
    const problem = prefixProblem(network);
    if (problem !== null) errors.push(fieldError("/prefix_length", "out_of_range", problem));
    const noGateway = problem === null ? gatewayProblem(network) : null;
    if (noGateway !== null) errors.push(fieldError("/gateway", "out_of_range", noGateway));
  }
  // Without a gateway the version is not known, and that is told at the gateway.
  if (gateway !== null) errors.push(...reverseNameErrors(body.reverse_name, gateway.version));
  return region === null ? errors : [...errors, ...vlanErrors(body.vlan, region)];
}

function vlanErrors(
  vlan: number | null | undefined,
  { vlan_first, vlan_last }: { readonly vlan_first: number; readonly vlan_last: number },
): FieldError[] {
  if (vlan == null || vlan < vlan_first || vlan > vlan_last) return [];
  const problem = `is one of the region's private VLANs (${vlan_first} to ${vlan_last})`;
  return [fieldError("/vlan", "conflicts_with", problem)];
}

export async function createIpPool({ body }: ApiRequest<"createIpPool">, tx: Tx): Promise<Outcome> {
  const gateway = parseIp(body.gateway);
  if (gateway === null) throw new Error(`checkCreateIpPool let ${body.gateway} pass`);
  // Under its lock: the region's own VLANs may have been widened since the check.
  const region = await lockRegion(tx, body.region);
  if (region === null) throw new Invalid([fieldError("/region", "not_found", "no such region")]);
  const errors = vlanErrors(body.vlan, region);
  if (errors.length > 0) throw new Invalid(errors);
  const id = newId("pool");
  await insertIpPool(tx, {
    id,
    region: body.region,
    name: body.name,
    description: body.description ?? "",
    version: gateway.version,
    gateway: body.gateway,
    prefix_length: body.prefix_length,
    vlan: body.vlan ?? null,
    reverse_name: storedReverseName(body.reverse_name ?? null, gateway.version),
  }).catch((error: unknown) => {
    if (violatedConstraint(error) === "ip_pool_name") throw poolNameTaken(body.name, body.region);
    throw error;
  });
  const pool = await findIpPool(tx, id);
  if (pool === null) throw new Error("a pool that was just made could not be found");
  return { reply: reply(201, viewIpPool(pool), { Location: `/api/v1/ip-pools/${id}` }), resource: id };
}
