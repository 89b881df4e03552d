import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { images, packageMismatch } from "@kule/rules/catalog/images";
import { findPackage, packages } from "@kule/rules/catalog/packages";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError } from "../../platform/errors.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { readCapacity } from "../inventory/index.ts";
import { chooseRegion, listVisibleRegions } from "../regions/index.ts";
import { availability } from "./availability.ts";

type Request = ApiRequest<"checkCatalog">;

/** What the body names must be in the catalogue, and fit together, as for a create. */
export async function checkCheckCatalog(
  { db, organisationId }: Request,
  body: Partial<RequestBody<"checkCatalog">>,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  const chosen = chooseRegion(await listVisibleRegions(db, organisationId), body.region);
  if ("error" in chosen) errors.push(chosen.error);
  const image = images.find(({ slug }) => slug === body.image);
  if (body.image !== undefined && image === undefined)
    errors.push(
      fieldError("/image", "not_one_of", `must be one of: ${images.map(({ slug }) => slug).join(", ")}`),
    );
  const plan = body.package === undefined ? undefined : findPackage(body.package);
  if (body.package !== undefined && plan === undefined)
    errors.push(
      fieldError("/package", "not_one_of", `must be one of: ${packages.map(({ slug }) => slug).join(", ")}`),
    );
  const mismatch = image === undefined || plan === undefined ? null : packageMismatch(plan, image);
  if (mismatch !== null) errors.push(fieldError("/package", "os_plan_mismatch", mismatch));
  return errors;
}

/** Answers by the same rule that a create is refused by. */
export async function checkCatalog({ db, organisationId, body }: Request): Promise<Reply> {
  const chosen = chooseRegion(await listVisibleRegions(db, organisationId), body.region);
  const plan = findPackage(body.package);
  if ("error" in chosen || plan === undefined) throw new Error("the request was not checked");
  const { region } = chosen;
  const { fits, reason } = availability(region, await readCapacity(db, region.slug), plan, body.image);
  const enough = fits === null || fits >= (body.count ?? 1);
  const answer: Schemas["CatalogAnswer"] = {
    region: region.slug,
    placeable: reason !== "maintenance" && enough,
    known: fits !== null,
    fits,
    reason: reason ?? (enough ? null : "capacity"),
  };
  return reply(200, answer);
}
