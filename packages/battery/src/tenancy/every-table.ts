import { randomUUID } from "node:crypto";
import { claimThis } from "@kule/api/testing/proofs/region-agent";
import type { Tenant } from "@kule/api/testing/proofs/tenant";
import type { TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";
import { TestLooker } from "@kule/api/testing/test-looker";

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
    // A server with a public address; its console is asked for, and its VM was changed behind the product's back.
    const server = await tenant.addRunningServer({ subnet_id: standing.subnet });
    const publicIp = await tenant.addPublicIp();
    for (const asked of [
      await tenant.owner.post(`/public-ips/${publicIp}/attach`, { server_id: server }),
      await tenant.owner.post(`/servers/${server}/console`, {}),
    ])
      if (asked.status >= 300) throw new Error(`refused: ${JSON.stringify(asked.body)}`);
    await seeChanged(tenant, server);
    const keyed = await tenant.owner.post("/ssh-keys", tenant.sshKeyBody(), {
      "Idempotency-Key": randomUUID(),
    });
    if (keyed.status !== 201) throw new Error(`no key: ${JSON.stringify(keyed.body)}`);
  }
}

/** Two looks at the region that find the server's number taken by a guest without its marker. */
async function seeChanged(tenant: Tenant, server: string): Promise<void> {
  const looker = new TestLooker(tenant.region.agent);
  for (let looks = 0; looks < 2; looks++) {
    const { pass, look_for: numbers } = await looker.begin();
    if (pass === null) throw new Error("the region is being looked at");
    const vms = numbers.map((vmid) => ({
      vmid,
      node: "pve1",
      state: "seen" as const,
      seen_after_ms: 0,
      power: "on" as const,
      name: "stranger",
    }));
    await looker.batch(pass, 0, { vms, absent: [], end: { complete: true } });
  }
  const { body } = await tenant.owner.get(`/servers/${server}`);
  if (body.drift === null) throw new Error("no drift was noted");
}
