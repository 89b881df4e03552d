import type { ApiRequest } from "../../platform/api-request.ts";
import { NotFound } from "../../platform/errors.ts";
import { findRegion } from "./store.ts";

/** The region that the path names. */
export async function regionOf(request: ApiRequest) {
  const slug = request.pathText("region");
  if (!/^[a-z0-9-]{1,40}$/.test(slug)) throw new NotFound();
  return findRegion(request.db, slug);
}
