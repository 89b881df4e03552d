import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { type Image, packageMismatch } from "@kule/rules/catalog/images";
import { findPackage } from "@kule/rules/catalog/packages";
import type { Refusal } from "@kule/rules/decision";
import { agentKeyUnknown } from "@kule/rules/servers/password-reset";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewWrittenJob } from "../jobs/index.ts";
import { blocked, linksTo, refuseConflicts, would, writtenServer } from "./answers.ts";
import type { RebuildParameters } from "./payload.ts";
import { checkImage, checkSshKeys, findNamedKeys } from "./placement.ts";
import { passWaitingRules } from "./preempt.ts";
import { queueServerJob } from "./queue-server-job.ts";
import { keepNewPassword, wipeSecret } from "./server-secret.ts";
import { lockedState } from "./server-state.ts";
import { findAgentKey, lockServer, type ServerDetails, type ServerRow } from "./store.ts";
import { diskOf } from "./view.ts";

type Request = ApiRequest<"rebuildServer">;

/** The result of `check`, for the transaction that follows. */
const findings = new WeakMap<Request, { readonly image: Image; readonly sshPublicKeys: string[] }>();

export async function checkRebuildServer(
  request: Request,
  body: Partial<RequestBody<"rebuildServer">>,
  found: ServerDetails,
): Promise<readonly FieldError[]> {
  const errors: FieldError[] = [];
  const refuse = (pointer: string, code: FieldError["code"], message: string) => {
    errors.push(fieldError(pointer, code, message));
  };
  const image = checkImage(body, refuse);
  const keys = await findNamedKeys(request.db, request.organisationId, body.ssh_key_ids ?? []);
  const sshPublicKeys = checkSshKeys(keys, body, image, refuse);
  errors.push(...mismatches(body.confirm_name, image, found));
  if (errors.length === 0 && image !== null) findings.set(request, { image, sshPublicKeys });
  return errors;
}

/**
 * Reasons in the server itself against the rebuild. A job that ends concurrently may change its name and its
 * size.
 */
function mismatches(
  confirmName: string | undefined,
  image: Image | null,
  server: Pick<ServerRow, "name" | "package" | "disk_gb">,
): FieldError[] {
  const errors: FieldError[] = [];
  const plan = findPackage(server.package);
  if (image !== null && plan !== undefined) {
    const mismatch = packageMismatch({ ...plan, diskGb: diskOf(server) }, image);
    if (mismatch !== null) errors.push(fieldError("/image", "os_plan_mismatch", mismatch));
  }
  if (confirmName !== undefined && confirmName !== server.name)
    errors.push(
      fieldError(
        "/confirm_name",
        "conflicts_with",
        "is not the server's name; everything on its disk would be lost",
      ),
    );
  return errors;
}

/**
 * Writes the job that destroys the server's disk and recreates it; image and keys change when it has
 * succeeded.
 */
export async function rebuildServer(request: Request, tx: Tx, found: ServerDetails): Promise<Outcome> {
  const server = await lockServer(tx, found.organisation_id, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  request.checkGeneration(server);
  const checked = findings.get(request);
  if (checked === undefined) throw new Error("the request was not checked");
  const { image } = checked;
  const changed = mismatches(request.body.confirm_name, image, server);
  if (changed.length > 0) throw new Invalid(changed);
  const isWindows = image.osFamily === "windows";
  const agentKey = await findAgentKey(tx, server.region);
  const { state } = await lockedState(tx, server);
  const refusals: Refusal[] = [
    ...decideServerAction("rebuild", state),
    ...(isWindows && agentKey === null ? [agentKeyUnknown(server.region)] : []),
  ];
  if (request.dryRun && refusals.length > 0) return blocked(refusals);
  refuseConflicts(refusals, server.status);

  const given = request.body.ssh_key_ids;
  const kept = given === undefined && !isWindows;
  const parameters: RebuildParameters = {
    image: image.slug,
    ssh_key_ids: kept ? server.ssh_key_ids : (given ?? []),
    ssh_public_keys: kept ? server.ssh_public_keys : checked.sshPublicKeys,
  };
  await passWaitingRules(tx, server.organisation_id, server.id);
  const job = await queueServerJob(request, tx, server, {
    kind: "ServerRebuild",
    status: "rebuilding",
    parameters,
    // Its disk may be gone since an earlier rebuild. A rebuild that does nothing does not restore it.
    irreversible: server.status === "error",
  });
  let password: string | null = null;
  if (parameters.ssh_public_keys.length > 0) wipeSecret(tx, server);
  else if (!request.dryRun) password = keepNewPassword(tx, server, image.osFamily, agentKey);
  const written = await writtenServer(tx, server.organisation_id, server.id);
  if (request.dryRun) return would(written, "ServerRebuild", null);
  const answer: Schemas["ServerRebuilt"] = {
    server: written,
    job: await viewWrittenJob(tx, job, request.caller),
    console_password: password,
  };
  return {
    reply: reply(202, answer, linksTo(job)),
    resource: server.id,
    details: { job: job.id },
    secretFields: ["console_password"],
  };
}
