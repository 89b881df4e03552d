import type { Refusal } from "@kule/rules/decision";
import { inUse, nameTaken, regionUnavailable } from "@kule/rules/refusals";
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
