import type { ApiFault } from "@kule/lab/dns/api-faults";
import type { DomainStage } from "./domain-stage.ts";

type Served = Awaited<ReturnType<DomainStage["provenDomain"]>>;
type Part = { readonly tried: number; readonly found: readonly string[] };

const faults: readonly ApiFault[] = ["error", "cut", "lost-reply"];
const methods = ["GET", "POST", "PATCH"] as const;
/** Attempts in an hour, with the longest pauses. */
const attemptsOfAnHour = 12;

/** Each fault at each kind of call, of a domain that is made and of one that is changed. */
export async function failingProvider(stage: DomainStage, served: Served): Promise<Part> {
  const { lab } = stage.domains;
  const found: string[] = [];
  let tried = 0;
  stage.domains.startWorker();
  for (const fault of faults)
    for (const method of methods)
      for (const make of [() => stage.provenDomain(), () => stage.change(served)]) {
        tried += 1;
        lab.faults.add(fault, { method });
        const wrong = await stage.judge(await make());
        lab.faults.clear();
        found.push(...wrong.map((text) => `${fault} at ${method}: ${text}`));
      }
  await stage.domains.stopWorker();
  return { tried, found };
}

/** The provider is away for an hour: the job waits, says why, and is done when the provider is back. */
export async function longOutage(stage: DomainStage, served: Served): Promise<Part> {
  const { lab } = stage.domains;
  const found: string[] = [];
  lab.faults.add("error", { calls: Number.MAX_SAFE_INTEGER });
  const pending = await stage.change(served);
  stage.domains.startWorker();
  for (let attempt = 0; attempt < attemptsOfAnHour; attempt += 1) {
    const job = await stage.afterAttempt(pending.job);
    if (job.status !== "queued" || job.error !== "dns_unavailable") {
      found.push(
        `after attempt ${attempt + 1} in an outage of an hour the job is ${job.status} (${job.error})`,
      );
      break;
    }
  }
  lab.faults.clear();
  const wrong = await stage.judge(pending);
  await stage.domains.stopWorker();
  found.push(...wrong.map((text) => `after an outage of an hour: ${text}`));
  return { tried: 1, found };
}

/** One record of 10,000 is changed with one call that names one record set. */
export async function editOfLargeZone(stage: DomainStage): Promise<Part> {
  const { owner } = stage.acme;
  const pending = await stage.provenDomain();
  stage.domains.startWorker();
  const found = [...(await stage.judge(pending))];
  const zone_file = Array.from({ length: 9_990 }, (_, at) => `r${at} 300 IN A 192.0.2.${at % 250}`).join(
    "\n",
  );
  const filled = await owner.post(`/domains/${pending.domain.id}/zone-file`, { zone_file });
  found.push(...(await stage.ended(filled.body.job.id)));
  const changes = stage.countChanges();
  const edited = await owner.put(`/domains/${pending.domain.id}/records/r5000/A`, {
    values: ["192.0.2.251"],
  });
  found.push(...(await stage.ended(edited.body.job.id)));
  const calls = changes();
  if (calls !== 1) found.push(`one record of 10,000 is changed with ${calls} calls`);
  await stage.domains.stopWorker();
  return { tried: 1, found };
}
