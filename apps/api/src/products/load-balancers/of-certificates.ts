import type { CertificateHooks, CertificateUse } from "../certificates/index.ts";
import { answeringBalancers } from "./challenge-answer.ts";

/** As many uses of one certificate as its hooks may tell. */
const mostUses = 100;

/**
 * The hooks of load balancers for certificates: one that a listener uses stays, and names that lead to a load balancer are proven
 * by it. New material is followed by a trigger of the table, as the servers of targets are.
 */
export const loadBalancersOfCertificates: CertificateHooks = {
  usedBy: async (db, organisationId, certificateIds) => {
    const rows = await db
      .selectFrom("listener_certificate")
      .select(["certificate_id", "load_balancer_id", "listener_id"])
      .where("organisation_id", "=", organisationId)
      .where("certificate_id", "in", [...certificateIds])
      .orderBy("certificate_id")
      .orderBy("listener_id")
      .limit(mostUses * certificateIds.length)
      .execute();
    const uses = new Map<string, CertificateUse[]>();
    for (const { certificate_id, load_balancer_id, listener_id } of rows) {
      const of = uses.get(certificate_id) ?? [];
      if (of.length < mostUses) of.push({ load_balancer_id, listener_id });
      uses.set(certificate_id, of);
    }
    return uses;
  },
  answersOverHttp: answeringBalancers,
};
