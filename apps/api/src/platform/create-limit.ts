import type { ApiRequest } from "./api-request.ts";
import { RateLimited } from "./errors.ts";

/** Audit actions of the contract that create something in an organisation: `server.create`, `member.add`. */
const makes = /\.(create|add)$/;

/**
 * Counts a create of an organisation, whichever of its members or tokens sends it: minting more tokens does
 * not fill a region faster. Only valid requests are counted; a dry run creates nothing, and is counted in its
 * caller's own bucket.
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
