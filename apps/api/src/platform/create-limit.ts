import type { ApiRequest } from "./api-request.ts";
import { RateLimited } from "./errors.ts";

/** What makes something of an organisation's own, by the contract's audit action: `server.create`, `member.add`. */
const makes = /\.(create|add)$/;

/**
 * Counts something new of an organisation, whoever of its members or tokens asks: minting more tokens helps nobody to
 * fill a region faster. Only requests that are right are counted; a dry run makes nothing, and its caller's own bucket
 * has counted it.
 *
 * @throws RateLimited when the organisation's bucket is empty
 */
export function countCreate(request: ApiRequest): void {
  const { operation, deps, dryRun, organisationOrNull: organisation } = request;
  if (organisation === null || dryRun || operation.audit === null || !makes.test(operation.audit)) return;
  const { createLimitPerHour: perHour, createLimitBurst: burst } = deps.settings;
  const allowance = deps.limiter.take(`creates ${organisation.id}`, { perHour, burst });
  if (!allowance.allowed)
    throw new RateLimited(
      allowance.retryAfterSeconds,
      "the organisation makes too much at once; wait and go on",
    );
}
