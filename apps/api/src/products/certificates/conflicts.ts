import type { Refusal } from "@kule/rules/decision";
import { inUse, invalidState, nameTaken, notConfigured, regionUnavailable } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";
import type { CertificateUse } from "./hooks.ts";
import type { CertificateRow } from "./store.ts";

export function certificateNameTaken(name: string, holder: string | null): Conflict {
  return new Conflict(
    nameTaken("certificate_name_free", `a certificate named ${JSON.stringify(name)} already exists`, {
      resource: holder,
      fix:
        holder === null
          ? null
          : `take another name, replace what it holds: PUT /certificates/${holder}/material, or DELETE /certificates/${holder}`,
    }),
  );
}

/** A private key is sealed for the agent, and there is no key to seal it to. */
export const agentKeyUnknown = (region: string): Refusal<"region_unavailable"> =>
  regionUnavailable(
    "region_agent_key_known",
    `The agent of region ${region} has not reported its public key, so a private key cannot be handed to it safely`,
    { resource: region, fix: "Wait until the region's agent has reported its health" },
  );

export function certificateInUse(
  { id, name }: Pick<CertificateRow, "id" | "name">,
  [first, ...others]: readonly [CertificateUse, ...CertificateUse[]],
): Conflict {
  const more = others.length === 0 ? "" : ` and by ${others.length} more`;
  return new Conflict(
    inUse("certificate_unused", `${name} is used by ${first.listener_id}${more}`, {
      resource: first.load_balancer_id,
      fix: `PATCH /load-balancers/${first.load_balancer_id}/listeners/${first.listener_id} with certificate_ids without ${id}`,
    }),
  );
}

/** An operation of uploaded certificates for a managed one. */
export const notUploaded = ({ id, name }: Pick<CertificateRow, "id" | "name">): Conflict =>
  new Conflict(
    invalidState(
      "certificate_uploaded",
      `${name} is managed: Kule has it issued, with a key that nobody has`,
      {
        resource: id,
        fix: `Renew it: POST /certificates/${id}/renew, or upload another certificate: POST /certificates`,
      },
    ),
  );

/** An operation of managed certificates for an uploaded one. */
export const notManaged = ({ id, name }: Pick<CertificateRow, "id" | "name">): Conflict =>
  new Conflict(
    invalidState("certificate_managed", `${name} was uploaded, and its owner renews it`, {
      resource: id,
      fix: `Replace what it holds: PUT /certificates/${id}/material`,
    }),
  );

export const caNotConfigured = (): Conflict =>
  new Conflict(
    notConfigured("ca_configured", "This installation has no CA that issues certificates", {
      fix: "Upload the certificate: POST /certificates with type uploaded. An operator sets KULE_ACME_FILE (docs/acme.md)",
    }),
  );

export const caWaits = ({ id, ca_retry_at }: Pick<CertificateRow, "id" | "ca_retry_at">): Conflict =>
  new Conflict(
    invalidState(
      "ca_accepts_orders",
      `The CA has asked to wait until ${ca_retry_at?.toISOString() ?? "later"}; Kule tries again then by itself`,
      { resource: id, fix: "Wait until then" },
    ),
  );

/** The region makes its key at this moment. */
export const hasOpenJob = ({ id, name }: Pick<CertificateRow, "id" | "name">, jobId: string): Conflict =>
  new Conflict(
    invalidState("certificate_without_open_job", `The region makes the key of ${name} at this moment`, {
      resource: jobId,
      fix: `Try again when the job has ended: GET /jobs/${jobId}?wait=20, then DELETE /certificates/${id}`,
    }),
  );
