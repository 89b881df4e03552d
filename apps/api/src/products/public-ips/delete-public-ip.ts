import { decideRelease } from "@kule/rules/public-ips/lifecycle";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { releasePublicIp } from "./allocation.ts";
import { factsOf, lockPublicIp, type PublicIpDetails } from "./store.ts";

export async function deletePublicIp(
  request: ApiRequest<"deletePublicIp">,
  tx: Tx,
  found: PublicIpDetails,
): Promise<Outcome> {
  const { organisationId } = request;
  const ip = await lockPublicIp(tx, organisationId, found.id);
  if (ip === null) throw new NotFound();
  request.checkGeneration(ip);
  const [refusal] = decideRelease(factsOf(ip));
  if (refusal !== undefined) throw new Conflict(refusal);
  await releasePublicIp(tx, ip, request.deps.settings.addressQuarantineSeconds, {
    job: null,
    source: "request",
  });
  return { reply: noContent(), resource: ip.id, details: { region: ip.region, address: ip.address } };
}
