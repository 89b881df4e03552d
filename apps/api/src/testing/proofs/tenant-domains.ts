import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { bySystem, proveDomain } from "../../products/domains/index.ts";
import type { ApiWorld } from "../api-world.ts";
import { endOwnJobs } from "../end-own-jobs.ts";
import { runJob } from "./region-agent.ts";
import { made, type Tenant } from "./tenant.ts";

/** The record set that a tenant's standing domain has. */
export const standingRecord = { name: "www", type: "A" } as const;

/** The domain of a tenant in which its others lie: those need no proof, and there may be any number of them. */
const parents = new WeakMap<Tenant, { readonly world: ApiWorld; readonly name: string }>();

/** A body whose domain is proven when it is added. */
export function domainBody(tenant: Tenant) {
  return {
    name: `${tenant.name()}.${parentOf(tenant).name}`,
    description: tenant.mark,
    labels: { of: tenant.mark },
  };
}

/** A proven domain; the job that makes its zone waits. */
export async function addDomain(tenant: Tenant): Promise<string> {
  return made(await tenant.owner.post("/domains", domainBody(tenant))).domain.id;
}

/** One that may not be deleted. */
export async function addProtectedDomain(tenant: Tenant): Promise<string> {
  const id = await addDomain(tenant);
  made(await tenant.owner.patch(`/domains/${id}`, { protection: { delete: true } }));
  return id;
}

/** The same, and no job is open. */
export async function addDomainWithRecord(tenant: Tenant): Promise<string> {
  const id = await addDomain(tenant);
  await addRecord(tenant, id, standingRecord.name);
  await endOwnJobs(parentOf(tenant).world.replica.deps);
  return id;
}

/** One in the removal buffer. */
export async function addDeletedDomain(tenant: Tenant): Promise<string> {
  const id = await addDomain(tenant);
  made(await tenant.owner.delete(`/domains/${id}`));
  return id;
}

/** One without an open job. */
export async function addAppliedDomain(tenant: Tenant): Promise<string> {
  const id = await addDomain(tenant);
  await endOwnJobs(parentOf(tenant).world.replica.deps);
  return id;
}

/** The standing domain of a tenant, which has a record set that follows its server, and one that it had. */
export async function openDomains(
  world: ApiWorld,
  tenant: Tenant,
  server: string,
): Promise<{ readonly standing: string; readonly removed: string }> {
  const name = `${tenant.slug}.example`;
  parents.set(tenant, { world, name });
  const parent = made(await tenant.owner.post("/domains", { name })).domain.id;
  await prove(tenant, parent);
  const removed = made(await tenant.owner.post("/domains", { name: `gone-${name}` })).domain.id;
  made(await tenant.owner.delete(`/domains/${removed}`));
  const standing = await addDomainWithRecord(tenant);
  // One that only its parent proves would be looked for on the Internet when it is verified.
  await prove(tenant, standing);
  // Every list has a second page.
  await addRecord(tenant, standing, "mail");
  made(await tenant.owner.put(`/domains/${standing}/records/follows/AAAA`, { values: [`auto:${server}`] }));
  await endOwnJobs(world.replica.deps);
  return { standing, removed };
}

/** One whose key its region is to make: nothing else of it is under way. */
export async function addManagedCertificate(tenant: Tenant): Promise<string> {
  const body = {
    name: tenant.name(),
    type: "managed",
    region: tenant.region.slug,
    domain_names: [`${tenant.name()}.${parentOf(tenant).name}`],
  };
  return made(await tenant.owner.post("/certificates", body)).certificate.id;
}

/** One whose region has failed to make the key: another job is queued when it is renewed. */
export async function addFailedCertificate(tenant: Tenant): Promise<string> {
  const id = await addManagedCertificate(tenant);
  const { job_id } = made(await tenant.owner.get(`/certificates/${id}`));
  const error = { code: "internal", message: "failed for the proofs" };
  await runJob(tenant.region.agent, job_id, { status: "failed", error }, ["CertificateRequest"]);
  return id;
}

async function addRecord(tenant: Tenant, domain: string, name: string): Promise<void> {
  const path = `/domains/${domain}/records/${name}/${standingRecord.type}`;
  made(await tenant.owner.put(path, { values: ["192.0.2.1"], comment: tenant.mark }));
}

/** As if its record had been seen: nobody could be asked for it here. */
async function prove(tenant: Tenant, id: string): Promise<void> {
  const { db } = parentOf(tenant).world.replica.deps;
  await inTransaction(db, async (tx) => {
    actAs(tx, tenant.id);
    const outcome = await proveDomain(
      tx,
      { id, organisation_id: tenant.id },
      { by: "record", observed: [] },
      bySystem("the proofs"),
    );
    const isProven = outcome.is === "proven" || (outcome.is === "decided" && outcome.domain.is_verified);
    if (!isProven) throw new Error(`${id} is ${outcome.is}`);
  });
}

function parentOf(tenant: Tenant): { readonly world: ApiWorld; readonly name: string } {
  const found = parents.get(tenant);
  if (found === undefined) throw new Error(`${tenant.slug} has no domain yet`);
  return found;
}
