import { randomUUID } from "node:crypto";
import { percentile } from "../judgement.ts";
import { type CallAnswer, HttpCaller } from "../served-api/http-call.ts";
import type { ServedApi } from "../served-api/served-api.ts";
import { type Found, freshOwner } from "./caller-limits.ts";

/** An agent's lease is 90 s and is renewed by such calls: seconds would be far from harm, and far from good. */
const slowestClaimMs = 2_000;

/**
 * Claims of the region's agent while users call as fast as the process answers, compared with claims without
 * load.
 */
export async function claimsUnderFlood(
  api: ServedApi,
  claims: number,
  progress: (text: string) => void,
): Promise<Found> {
  const agent = new HttpCaller("127.0.0.1", 1);
  // From the agent's own address: a bucket they shared would show.
  const users = new HttpCaller("127.0.0.1", 64);
  const url = api.replicas[0]?.url ?? "";
  const claim = () =>
    agent.call(`${url}/agent/jobs/claim`, {
      method: "POST",
      token: api.seeded.agent_token,
      body: {
        claim_id: randomUUID(),
        agent_version: "0.1.0",
        // A kind that does not exist: nothing is assigned, and the whole search is made.
        capabilities: ["ServerNothing"],
        wait_seconds: 0,
      },
    });
  const claimsInRow = async () => {
    const answers: CallAnswer[] = [];
    for (let index = 0; index < claims; index += 1) answers.push(await claim());
    return answers;
  };
  await claimsInRow();
  const peaceful = await claimsInRow();

  const owners = await Promise.all(Array.from({ length: 10 }, () => freshOwner(api, users)));
  const tokens = owners.flat();
  let isOver = false;
  const flood = { answered: 0, refused: 0 };
  const flooding = Array.from({ length: 40 }, async (_, lane) => {
    while (!isOver) {
      // Every fourth with a wrong token, as a thief would.
      const token = lane % 4 === 3 ? `kule_pat_${randomUUID()}` : tokens[lane % tokens.length];
      const { status } = await users
        .call(`${url}/servers?limit=100`, { token: token ?? "" })
        .catch(() => ({ status: 0 }));
      flood.answered += 1;
      if (status === 429) flood.refused += 1;
    }
  });
  const startedAt = performance.now();
  const flooded = await claimsInRow();
  const seconds = (performance.now() - startedAt) / 1000;
  isOver = true;
  await Promise.all(flooding);
  agent.close();
  users.close();
  progress(`${flood.answered} calls of users during ${claims} claims`);

  const violations: string[] = [];
  for (const { status, text } of [...peaceful, ...flooded])
    if (status !== 204) violations.push(`an agent's claim is answered ${status} ${text.slice(0, 200)}`);
  const p99 = (answers: readonly CallAnswer[]) =>
    percentile(
      answers.map(({ ms }) => ms),
      0.99,
    ) ?? 0;
  const [inPeace, inFlood] = [p99(peaceful), p99(flooded)];
  // Where claims are slow without a flood, a machine that does other work is the reason.
  if (inFlood > Math.max(slowestClaimMs, 20 * inPeace))
    violations.push(`the slowest claims take ${Math.round(inFlood)} ms while users flood`);
  if (flood.refused === 0) violations.push("the flood was never held back: it was none");
  return {
    cases: peaceful.length + flooded.length,
    violations: [...new Set(violations)],
    figures: {
      "claim p99 in peace in ms": inPeace.toFixed(1),
      "claim p99 in the flood in ms": inFlood.toFixed(1),
      "calls a second in the flood": Math.round(flood.answered / seconds),
      "of them refused in %": Math.round((100 * flood.refused) / flood.answered),
    },
  };
}
