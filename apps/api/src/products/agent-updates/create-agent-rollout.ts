import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { findRegion } from "../regions/index.ts";
import { beginRollout, offeredArchitectures } from "./begin-rollout.ts";
import { noReleases } from "./conflicts.ts";
import { readRollout } from "./read-rollout.ts";

export async function checkCreateAgentRollout(
  request: ApiRequest<"createAgentRollout">,
  body: Partial<RequestBody<"createAgentRollout">>,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  const { version, first_region: first } = body;
  if (version !== undefined && request.deps.releases.path !== null)
    errors.push(...(await versionErrors(request, version)));
  if (typeof first === "string" && (await findRegion(request.db, first)) === null)
    errors.push(fieldError("/first_region", "not_found", "no such region"));
  return errors;
}

async function versionErrors({ deps }: ApiRequest, version: string): Promise<FieldError[]> {
  const known = await deps.releases.find(version);
  if (known === null)
    return [fieldError("/version", "not_found", "no such release: see GET /agent-releases")];
  if (Date.parse(known.release.expires_at) <= Date.now())
    return [fieldError("/version", "out_of_range", `the release has expired at ${known.release.expires_at}`)];
  return offeredArchitectures(known).length === 0
    ? [fieldError("/version", "out_of_range", "none of the release's files is what its manifest says")]
    : [];
}

export async function createAgentRollout(
  { body, deps }: ApiRequest<"createAgentRollout">,
  tx: Tx,
): Promise<Outcome> {
  if (deps.releases.path === null) throw noReleases();
  const release = await deps.releases.find(body.version);
  if (release === null) throw new Invalid([fieldError("/version", "not_found", "no such release")]);
  const id = await beginRollout(tx, {
    release,
    firstRegion: body.first_region ?? null,
    automatic: false,
  });
  return {
    reply: reply(201, await readRollout(tx, id), { Location: `/api/v1/agent-rollouts/${id}` }),
    resource: id,
  };
}
