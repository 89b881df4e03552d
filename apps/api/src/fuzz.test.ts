import { worldCheck } from "@kule/testing/world-check/world-check";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { type FuzzCase, fuzzCases } from "./testing/proofs/fuzz-cases.ts";
import { judgeFuzz, requestOf } from "./testing/proofs/fuzz-judge.ts";
import { type FuzzPools, fuzzPools } from "./testing/proofs/fuzz-pools.ts";
import type { RawAnswer } from "./testing/proofs/operation-call.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";

const requests = Number(process.env.KULE_FUZZ_REQUESTS ?? "5000");
const seed = process.env.KULE_FUZZ_SEED === undefined ? undefined : Number(process.env.KULE_FUZZ_SEED);
const path = process.env.KULE_FUZZ_PATH;

let all: TwoOrganisations;
let pools: FuzzPools;

beforeAll(async () => {
  all = await openTwoOrganisations(destroyNow);
  const spare = await all.world.addOrganisation("spare");
  const region = await all.world.addRegion("spare");
  pools = fuzzPools(all, region.slug, spare.id);
});
afterAll(() => all?.close());

describe("whatever is sent", () => {
  it(`is answered as the contract says, ${requests} times`, { timeout: 20_000 + requests * 60 }, async () => {
    const seen = new Map<string, number>();
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    const property = fc.asyncProperty(fuzzCases(pools), async (fuzz: FuzzCase) => {
      const actor = pools.actors.find((candidate) => candidate.name === fuzz.actor);
      if (actor === undefined) throw new Error(`no actor ${fuzz.actor}`);
      const { method, target, headers, body } = await requestOf(fuzz, actor, pools);
      const response = await all.world.app.request(target, {
        method,
        headers,
        ...(body === null ? {} : { body }),
      });
      const answer: RawAnswer = {
        status: response.status,
        headers: response.headers,
        text: await textOf(response),
      };
      count(String(answer.status));
      count(fuzz.operation.id);
      if (fuzz.body.kind === "defects" && answer.status === 422) count("all defects named");
      const defects = judgeFuzz(fuzz, actor, answer);
      if (defects.length > 0)
        throw new Error(
          `${defects.join("; ")}\n${method} ${target.slice(0, 500)} as ${actor.name}\n` +
            `headers ${JSON.stringify(fuzz.headers).slice(0, 500)}\n` +
            `body ${describeBody(body)}\nanswer ${answer.status} ${answer.text.slice(0, 1000)}`,
        );
    });
    const run = await fc.check(property, {
      numRuns: requests,
      ...(seed === undefined ? {} : { seed }),
      ...(path === undefined ? {} : { path }),
    });
    if (run.failed)
      throw new Error(
        `replay: KULE_FUZZ_SEED=${run.seed} KULE_FUZZ_PATH=${run.counterexamplePath} KULE_FUZZ_REQUESTS=${requests}` +
          ` node_modules/.bin/vitest run apps/api/src/fuzz.test.ts\n${String(run.errorInstance)}`,
      );
    const statuses = [...seen].filter(([key]) => /^\d+$/.test(key)).sort();
    console.info(
      `fuzz: ${requests} requests, seed ${run.seed}, ${statuses.map(([status, n]) => `${n}x${status}`).join(" ")}, ` +
        `${seen.get("all defects named") ?? 0} bodies with every planted defect named`,
    );
    if (path !== undefined) return;
    expect(await worldCheck({ ownerUrl: all.world.database.ownerUrl })).toEqual([]);
    expect(seen.get("503") ?? 0).toBe(0);
    // A fuzz that is turned away at the door proves nothing: enough must get through to the work itself.
    const share = (statusesOf: RegExp) =>
      statuses.filter(([status]) => statusesOf.test(status)).reduce((sum, [, n]) => sum + n, 0) / requests;
    expect(share(/^2/)).toBeGreaterThan(0.15);
    expect(share(/^422/)).toBeGreaterThan(0.1);
    expect(seen.get("all defects named") ?? 0).toBeGreaterThan(requests * 0.05);
    expect(statuses.map(([status]) => status)).toEqual(
      expect.arrayContaining([
        "200",
        "201",
        "202",
        "204",
        "400",
        "401",
        "403",
        "404",
        "405",
        "409",
        "415",
        "422",
      ]),
    );
  });
});

/** The whole text; of an event stream only what is there at once, since it lasts as long as its job. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.text();
  await response.body?.cancel();
  return "";
}

function describeBody(body: string | Uint8Array | null): string {
  if (body === null) return "none";
  return typeof body === "string" ? body.slice(0, 1000) : Buffer.from(body).toString("hex").slice(0, 400);
}
