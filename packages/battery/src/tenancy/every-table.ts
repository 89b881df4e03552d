import { randomUUID } from "node:crypto";
import { claimThis } from "@kule/api/testing/proofs/region-agent";
import type { TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";

/** Adds to both organisations what their standing objects lack, so that no tenant table is without rows of both. */
export async function fillEveryTable({ a, b }: TwoOrganisations): Promise<void> {
  for (const { tenant, standing } of [a, b]) {
    // A server that waits to be made holds its password; a job that runs has steps.
    await tenant.addServer({ subnet_id: standing.subnet });
    const { jobId } = await tenant.addServer({ subnet_id: standing.subnet });
    const job = await claimThis(tenant.region.agent, jobId);
    const reported = await tenant.region.agent.post(`/agent/jobs/${job.id}/steps`, {
      epoch: job.epoch,
      seq: 1,
      phase: "apply",
      step: { name: "clone", status: "running" },
    });
    if (reported.status !== 200) throw new Error(`no step: ${JSON.stringify(reported.body)}`);
    const keyed = await tenant.owner.post("/ssh-keys", tenant.sshKeyBody(), {
      "Idempotency-Key": randomUUID(),
    });
    if (keyed.status !== 201) throw new Error(`no key: ${JSON.stringify(keyed.body)}`);
  }
}
