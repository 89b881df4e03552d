import type { TestOrganisation } from "@kule/api/testing/api-world";
import type { DomainStage } from "./domain-stage.ts";

/** Where a worker is killed while it ends what a sold domain has left. */
export const endPoints = ["worker.end_domain.before-begin", "worker.end_domain.done"] as const;

const endMilliseconds = 30_000;

/**
 * An organisation sells a domain in which it has another one. The buyer gets nothing while the domain is delegated to the
 * seller's name servers too; one who has delegated the domain gets it, and whatever is killed the seller serves nothing in it.
 *
 * @param point where the first worker is killed, null: nowhere
 * @returns what is wrong, as sentences
 */
export async function soldDomain(
  stage: DomainStage,
  [seller, buyer]: readonly [TestOrganisation, TestOrganisation],
  point: (typeof endPoints)[number] | null,
): Promise<string[]> {
  const { domains } = stage;
  const found: string[] = [];
  const statusOf = async (id: string) =>
    String((await domains.rows("select status from domain where id = $1", [id]))[0]?.status);
  domains.startWorker();
  const sold = await domains.addServedDomain(seller.owner, { zone_file: "www 300 IN A 192.0.2.1\n" });
  await domains.delegate(sold);
  const added = await seller.owner.post("/domains", { name: `shop.${sold.name}` });
  await domains.jobDone(seller.owner, added.body.job.id);
  const inside: { id: string; name: string } = added.body.domain;
  const wanted = await domains.addDomain(buyer.owner, { name: sold.name });
  const both = [...sold.name_servers, ...wanted.name_servers];
  await domains.delegate({ name: sold.name, name_servers: both });
  const early = await buyer.owner.post(`/domains/${wanted.id}/verify`);
  if (early.status !== 409)
    found.push(`a domain goes to another organisation while it is delegated to its own`);
  await domains.delegate(wanted);
  const late = await buyer.owner.post(`/domains/${wanted.id}/verify`);
  if (late.status === 202) await domains.jobDone(buyer.owner, late.body.job.id);
  await domains.stopWorker();
  const worker = stage.startWorker(point === null ? {} : { BATTERY_CRASH: point });
  if (point !== null) {
    const { signal } = await worker.ended;
    if (signal !== "SIGKILL") found.push(`no worker died at ${point}`);
    // As if the minutes had passed after which another worker may take its tasks.
    await domains.rows("update worker_process set seen_at = seen_at - interval '1 hour'");
    await domains.rows(
      "update graphile_worker._private_jobs set locked_at = locked_at - interval '1 hour' where locked_at is not null",
    );
  }
  const next = point === null ? worker : stage.startWorker();
  const deadline = performance.now() + endMilliseconds;
  while ((await statusOf(inside.id)) !== "lost" && performance.now() < deadline) await stage.passTime();
  await next.end();
  if ((await statusOf(sold.id)) !== "lost") found.push(`the seller's ${sold.name} is not lost`);
  if ((await statusOf(inside.id)) !== "lost") found.push(`the seller's ${inside.name} is not lost`);
  if ((await domains.provider.readZone(inside.name)) !== null)
    found.push(`${inside.name} is served for who has sold ${sold.name}`);
  const zone = await domains.provider.readZone(sold.name);
  if (zone === null || zone.recordSets.some(({ type }) => type === "A"))
    found.push(`${sold.name} does not have its buyer's records only`);
  const audit = await domains.rows(
    "select resource from audit where action = 'domain.lose' and resource = any ($1)",
    [[sold.id, inside.id]],
  );
  if (audit.length !== 2) found.push(`the trail has ${audit.length} entries for two lost domains`);
  return found;
}
