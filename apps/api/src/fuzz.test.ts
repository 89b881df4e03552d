import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { destroyNow } from "./testing/proofs/destroy-server.ts";
import { fuzzCases } from "./testing/proofs/fuzz-cases.ts";
import { type FuzzPools, fuzzPools } from "./testing/proofs/fuzz-pools.ts";
import { FuzzTally, fuzzOnce } from "./testing/proofs/fuzz-run.ts";
import { openTwoOrganisations, type TwoOrganisations } from "./testing/proofs/two-organisations.ts";

/** The same in every run; row C9 of the battery sends tens of thousands of requests with a new seed each time. */
const SEED = 1;

let all: TwoOrganisations;
let pools: FuzzPools;

beforeAll(async () => {
  all = await openTwoOrganisations(destroyNow);
  const spare = await all.world.addOrganisation("spare");
  const region = await all.world.addRegion("spare");
  pools = fuzzPools(all, region.slug, spare.id);
});
afterAll(() => all?.close());

describe("an API with one defect is detected", () => {
  type Change = (response: Response, text: string) => Response;
  const problem = (response: Response, text: string, change: (body: Record<string, unknown>) => unknown) => {
    const body = JSON.parse(text) as Record<string, unknown>;
    change(body);
    return new Response(JSON.stringify(body), { status: Number(body.status), headers: response.headers });
  };
  const wrong: { readonly [what: string]: Change } = {
    "that forgets one of several fields": (response, text) =>
      response.status !== 422
        ? response
        : problem(response, text, (body) => (body.errors as unknown[]).pop()),
    "that says 403 where something is absent": (response, text) =>
      response.status !== 404
        ? response
        : problem(response, text, (body) => Object.assign(body, { status: 403 })),
    "that looks at the body before the path": (response, text) =>
      response.status !== 404
        ? response
        : problem(response, text, (body) => Object.assign(body, { status: 422 })),
    "that lets everybody in": (response, text) =>
      response.status !== 401
        ? response
        : problem(response, text, (body) => Object.assign(body, { status: 404 })),
    "that fails with an internal error": (response, text) =>
      response.status !== 409
        ? response
        : problem(response, text, (body) => Object.assign(body, { status: 500 })),
    "that shows a field too many": (response, text) =>
      response.status !== 200 || !text.startsWith('{"items"')
        ? response
        : new Response(text.replace("{", '{"total":1,'), response),
    "that loses the request id": (response, text) => {
      const headers = new Headers(response.headers);
      headers.delete("X-Request-Id");
      return new Response(text === "" ? null : text, { status: response.status, headers });
    },
  };

  it.each(Object.entries(wrong))("one %s", async (_what, change) => {
    const app = {
      request: async (target: string, init: RequestInit) => {
        const response = await all.world.app.request(target, init);
        if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response;
        const text = await response.clone().text();
        return text === "" ? response : change(response, text);
      },
    };
    const property = fc.asyncProperty(fuzzCases(pools), (fuzz) =>
      fuzzOnce(app, fuzz, pools, new FuzzTally()),
    );
    const run = await fc.check(property, { seed: SEED, numRuns: 2_000, endOnFailure: true });
    expect(run.failed).toBe(true);
  });
});
