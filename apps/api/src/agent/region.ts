import type { ApiRequest } from "../platform/api-request.ts";
import { Forbidden } from "../platform/errors.ts";

/** The region an agent's token is bound to. */
export function regionOf(request: ApiRequest): string {
  const { region } = request.caller;
  if (region === null) throw new Forbidden([request.operation.permission]);
  return region;
}
