import { madeKey, reportOfKey } from "@kule/api/testing/issuing-world";
import type { CertificateStage } from "./certificate-stage.ts";
import { issuedOnce, type KnownKeys, standingOf } from "./issued-once.ts";

type Way = {
  readonly name: string;
  /** Does the region's job. */
  work(stage: CertificateStage): Promise<string[]>;
  readonly failures?: number;
};

const KIND = "CertificateRequest";

/** Agents that die or are not heard while they make the key. */
export const agentWays: readonly Way[] = [
  {
    name: "an agent that dies with the key it has made",
    async work(stage) {
      const { agent, served } = stage.world;
      const first = await agent.take(KIND);
      const lost = madeKey(first.payload);
      await served.rows(
        "update job set lease_until = clock_timestamp() - interval '1 second' where id = $1",
        [first.id],
      );
      const second = await agent.take(KIND);
      const kept = madeKey(second.payload);
      const found: string[] = [];
      // It was only thought to be dead.
      const early = await agent.report(first, reportOfKey(lost));
      const { status, body } = await agent.report(second, reportOfKey(kept));
      const late = await agent.report(first, reportOfKey(lost));
      if (early.status !== 409 || late.status !== 409)
        found.push(`its reports are answered ${early.status} and ${late.status}`);
      if (status !== 200) found.push(`its successor is answered ${status} ${JSON.stringify(body)}`);
      return [...found, ...(await keptKey(stage, kept.sealed_key))];
    },
  },
  {
    name: "a report whose answer is lost",
    async work(stage) {
      const { agent } = stage.world;
      const job = await agent.take(KIND);
      const made = madeKey(job.payload);
      const report = () => agent.reportAs(job, 1, reportOfKey(made));
      const answers = [await report(), await report()];
      await stage.world.step(stage.id);
      answers.push(await report());
      // Sent again it is the same report: the order has gone on meanwhile.
      const found = answers
        .filter(({ status }) => status !== 200 && status !== 409)
        .map(({ status, body }) => `it is answered ${status} ${JSON.stringify(body)}`);
      if (answers[0]?.status !== 200) found.push(`it is answered ${answers[0]?.status}`);
      if ((await stage.order())?.state === "ready") found.push("the order is back where it was");
      return [...found, ...(await keptKey(stage, made.sealed_key))];
    },
  },
  {
    name: "an agent that makes another key for a report that was not heard",
    async work(stage) {
      const { agent } = stage.world;
      const job = await agent.take(KIND);
      const [first, second] = [madeKey(job.payload), madeKey(job.payload)];
      await agent.reportAs(job, 1, reportOfKey(first));
      await agent.reportAs(job, 2, reportOfKey(second));
      return keptKey(stage, first.sealed_key);
    },
  },
  {
    name: "a region that cannot make the key",
    failures: 1,
    async work(stage) {
      const { agent } = stage.world;
      await agent.fail(await agent.take(KIND), "internal");
      return [];
    },
  },
];

/** Has the certificate issued anew with a key that was made in this way. */
export async function lostReport(
  stage: CertificateStage,
  keys: KnownKeys,
  { name, work, failures = 0 }: Way,
): Promise<string[]> {
  const before = await standingOf(stage);
  await stage.renew();
  const found = await work(stage);
  const driven = await stage.drive();
  found.push(...driven.found);
  // The failure of the region's job is there before the first step.
  const seen = driven.failures.length;
  if (seen > failures) found.push(`${seen} attempts have failed`);
  if (found.length === 0) found.push(...(await issuedOnce(stage, before, keys)));
  return found.map((text) => `${name}: ${text}`);
}

async function keptKey({ world, id }: CertificateStage, sealedKey: string): Promise<string[]> {
  const [row] = await world.served.rows(
    "select sealed_key from certificate_order where certificate_id = $1",
    [id],
  );
  return row?.sealed_key === sealedKey ? [] : ["the order has another key than the one that was taken"];
}
