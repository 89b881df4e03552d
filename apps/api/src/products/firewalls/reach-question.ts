import type { FieldError } from "@kule/contract/field-errors";
import type { Schemas } from "@kule/contract/schemas";
import { parseIp } from "@kule/rules/public-ips/addresses";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { findServer } from "../servers/index.ts";

type Question = Schemas["ReachQuestion"];

/**
 * What is wrong with a question about a packet in a region.
 *
 * @param gatewayAddress one that stands for servers: packets to it may be forwarded to one
 */
export async function questionErrors(
  { db, organisationId }: ApiRequest,
  { from, to, protocol, port }: Partial<Question>,
  region: string,
  gatewayAddress: string | null = null,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const [at, end] of [["/from", from] as const, ["/to", to] as const]) {
    if (end?.address !== undefined && parseIp(end.address) === null)
      errors.push(
        fieldError(`${at}/address`, "invalid_format", "is not an address such as 203.0.113.7 or 2001:db8::7"),
      );
    if (end?.server_id === undefined) continue;
    const server = isId("srv", end.server_id) ? await findServer(db, organisationId, end.server_id) : null;
    if (server?.region !== region)
      errors.push(fieldError(`${at}/server_id`, "not_found", "no such server in the region"));
  }
  if (from?.address !== undefined && to?.address !== undefined && to.address !== gatewayAddress)
    errors.push(fieldError("/to", "conflicts_with", "one of the two must be a server"));
  if (protocol === "icmp" && port !== undefined)
    errors.push(fieldError("/port", "conflicts_with", "icmp has no ports"));
  if ((protocol === "tcp" || protocol === "udp") && port === undefined)
    errors.push(fieldError("/port", "required", `is required with ${protocol}`));
  return errors;
}
