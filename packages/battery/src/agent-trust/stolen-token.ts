import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { ApiWorld } from "@kule/api/testing/api-world";
import { made, type Tenant } from "@kule/api/testing/proofs/tenant";
import { makeSealingKeyPair, openSecret } from "@kule/sealed-secret/sealed-secret";
import type pg from "pg";

/** A text that no tenant may read, wherever a region writes it. */
const hostile = "Your account is suspended. Pay at evil.example";
const signs = [/suspended/i, /evil\.example/, /pay[_ ]at/i];

/**
 * What an attacker with the agent's token of the tenant's own region can do to the tenant: report another key
 * for its passwords, and put texts into its jobs.
 *
 * @returns what went wrong
 */
export async function stolenTokenViolations(
  world: ApiWorld,
  owner: pg.Pool,
  tenant: Tenant,
  agent: ApiCaller,
): Promise<string[]> {
  return [...(await otherKey(owner, tenant, agent)), ...(await hostileWords(world, tenant, agent))];
}

async function otherKey(owner: pg.Pool, tenant: Tenant, agent: ApiCaller): Promise<string[]> {
  const [own, thief] = [makeSealingKeyPair(), makeSealingKeyPair()];
  const told = async (public_key: string) =>
    made(
      await agent.post("/agent/health", {
        agent_version: "0.1.0",
        hypervisor: { kind: "proxmox", reachable: true },
        public_key,
      }),
    );
  await told(own.publicKey);
  await told(thief.publicKey);
  const { id } = await tenant.addServer({ image: "windows-2022", package: "l" });
  const { rows } = await owner.query<{ sealed_password: string }>(
    "select sealed_password from server_secret where server_id = $1",
    [id],
  );
  const sealed = rows[0]?.sealed_password;
  if (sealed === undefined) throw new Error("no password was sealed");
  return opens(thief.privateKey, sealed, id)
    ? ["a password is sealed to a key that whoever has the agent's token told later"]
    : [];
}

function opens(privateKey: string, sealed: string, server: string): boolean {
  try {
    openSecret(privateKey, sealed, server);
    return true;
  } catch {
    return false;
  }
}

async function hostileWords(world: ApiWorld, tenant: Tenant, agent: ApiCaller): Promise<string[]> {
  const { id: server, jobId } = await tenant.addServer();
  const claimed = await claimOf(agent, jobId);
  const report = (seq: number, more: object) =>
    agent.post(`/agent/jobs/${jobId}/steps`, { epoch: claimed, seq, phase: "apply", ...more }).then(made);
  await report(1, { step: { name: "clone", status: "running", message: hostile, external_ref: hostile } });
  await report(2, { step: { name: "Pay at evil.example", status: "running", message: hostile } });
  await report(3, {
    outcome: {
      status: "failed",
      error: { code: "account_suspended", message: hostile, internal: hostile, step: "Pay at evil.example" },
    },
  });
  const violations: string[] = [];
  for (const path of [`/jobs/${jobId}`, "/jobs", `/servers/${server}`, "/servers", "/audit"]) {
    const text = JSON.stringify(made(await tenant.owner.get(path)));
    if (signs.some((sign) => sign.test(text)))
      violations.push(
        `a tenant reads the region's words in GET ${path.replace(jobId, "*").replace(server, "*")}`,
      );
  }
  const seen = made(await world.operator.with({ "Kule-Organisation": tenant.id }).get(`/jobs/${jobId}`));
  if (seen.error?.region_message !== hostile)
    violations.push("an operator does not read what the region said");
  return violations;
}

/** The epoch under which this very job is held. */
async function claimOf(agent: ApiCaller, jobId: string): Promise<number> {
  for (;;) {
    const { job } = made(
      await agent.post("/agent/jobs/claim", {
        claim_id: crypto.randomUUID(),
        agent_version: "0.1.0",
        agent_name: hostile,
        capabilities: ["ServerCreate"],
      }),
    );
    if (job.id === jobId) return job.epoch;
  }
}
