import { worldCheck } from "@kule/testing/world-check/world-check";
import { caTrials, failingCa } from "../certificate-jobs/ca-trials.ts";
import { CertificateStage } from "../certificate-jobs/certificate-stage.ts";
import { issuedOnce, type KnownKeys, standingOf } from "../certificate-jobs/issued-once.ts";
import { secretsInClear } from "../certificate-jobs/kept-secrets.ts";
import { chosenPlaces, killedWorker, placesOf, stalledWorker } from "../certificate-jobs/killed-workers.ts";
import { agentWays, lostReport } from "../certificate-jobs/lost-reports.ts";
import { realCa } from "../certificate-jobs/real-ca.ts";
import { renewalTimes } from "../certificate-jobs/renewal-times.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

export const row: Row = {
  id: "A22",
  title:
    "Whatever the CA answers or loses and whatever is killed, a certificate is issued once for each attempt, what is in use stays in use until then, and it is renewed in time",
  minutes: 3,
  mutants: [
    {
      name: "key-not-compared",
      removes: "the comparison of a certificate's key with the request's",
      patches: [
        {
          file: "packages/certificates/src/acme/issued-certificate.ts",
          find: 'if (!leaf.publicKey.export({ format: "der", type: "spki" }).equals(request.publicKeyDer))',
          replace: "if (request === undefined)",
        },
      ],
      expects: /is of another key than the one that is kept/,
    },
    {
      name: "lost-step-written",
      removes: "the comparison of an order's step with the one that was taken",
      patches: [
        {
          file: "apps/api/src/products/certificates/order-store.ts",
          find: "if (certificate === null || order === null || order.step !== taken.step) return null;",
          replace: "if (certificate === null || order === null) return null;",
        },
      ],
      expects: /the order is changed by who had lost its step/,
    },
    {
      name: "retry-at-once",
      removes: "the wait that the CA asks for",
      patches: [
        {
          file: "packages/rules/src/certificates/renewal.ts",
          find: "return Math.max(own, Math.min(retryAfterMs, mostRetryAfterMs));",
          replace: "return Math.min(own, mostRetryAfterMs);",
        },
      ],
      expects: /a limit that has been reached: after 1 failures it waits 60 s/,
    },
    {
      name: "sealed-key-left",
      removes: "the removal of the sealed key from its job's result",
      patches: [
        {
          file: "apps/api/src/products/certificates/settle.ts",
          find: "  forgetReport(tx, job);\n",
          replace: "  if (certificate === undefined) forgetReport(tx, job);\n",
        },
      ],
      expects: /still holds the sealed key/,
    },
    {
      name: "renewed-late",
      removes: "the renewal with a third of the lifetime left",
      patches: [
        {
          file: "packages/rules/src/certificates/renewal.ts",
          find: "Math.floor((notAfterMs - notBeforeMs) / 3)",
          replace: "Math.floor((notAfterMs - notBeforeMs) / 30)",
        },
      ],
      expects: /not with a third of its lifetime left/,
    },
    {
      name: "order-begun-again",
      removes: "the order that is kept while the CA is away",
      patches: [
        {
          file: "apps/api/src/products/certificates/step-order.ts",
          find: "retryAfterMs: error instanceof AcmeUnavailable ? retryAfterMs(error.retryAt) : null,\n      state,",
          replace:
            'retryAfterMs: error instanceof AcmeUnavailable ? retryAfterMs(error.retryAt) : null,\n      state: "ready",',
        },
      ],
      expects: /the CA was asked for \d+ orders, and 1 were needed/,
    },
  ],
  async run(run) {
    const stage = await CertificateStage.open();
    try {
      return await tried(stage, run);
    } finally {
      await stage.close();
    }
  },
};

type Part = () => Promise<{
  readonly what: string;
  readonly tried: number;
  readonly found: readonly string[];
}>;

/** After a violation in one part, the next ones would only find it again. */
async function tried(stage: CertificateStage, { scale, random, progress }: RowRun): Promise<RowResult> {
  const keys: KnownKeys = new Set();
  const figures: Record<string, number | string> = {};
  const one = (what: string, work: () => Promise<readonly string[]>): Part => {
    return async () => ({ what, tried: 1, found: await work() });
  };
  let places: Awaited<ReturnType<typeof placesOf>>["places"] = [];
  const parts: Part[] = [
    one("first certificates", async () => {
      const before = await standingOf(stage);
      await stage.world.makeKey();
      const { found } = await stage.drive();
      return found.length > 0 ? found : issuedOnce(stage, before, keys);
    }),
    ...caTrials(scale, random).map((trial) => one("failures of the CA", () => failingCa(stage, keys, trial))),
    one("workers that hang", () => stalledWorker(stage, keys)),
    ...agentWays.map((way) => one("lost reports of agents", () => lostReport(stage, keys, way))),
    async () => ({ what: "renewals by the clock", ...(await renewalTimes(stage, keys)) }),
    one("undisturbed renewals", async () => {
      const { places: all, found } = await placesOf(stage, keys);
      places = chosenPlaces(all, scale, random);
      figures["places where a worker can die"] = all.length;
      return found;
    }),
    async () => {
      const found: string[] = [];
      for (const place of places)
        if (found.length === 0) found.push(...(await killedWorker(stage, keys, place)));
      return { what: "killed workers", tried: places.length, found };
    },
    async () => {
      const result = await realCa(stage, keys);
      const what = "renewals by a real CA";
      if (!("missing" in result)) return { what, tried: 1, found: result.found };
      figures["why not by a real CA"] = result.missing;
      return { what, tried: 0, found: [] };
    },
    one("searches for secrets", () => secretsInClear(stage, keys)),
    one("world checks", async () => {
      const { ownerUrl } = stage.world.served.world.database;
      const found = await worldCheck({ ownerUrl });
      return found.map(({ invariant, check, subject }) => `world-check ${invariant} ${check}: ${subject}`);
    }),
  ];
  let cases = 0;
  for (const part of parts) {
    const { what, tried: count, found } = await part();
    cases += count;
    figures[what] = Number(figures[what] ?? 0) + count;
    if (found.length > 0) return { cases, violations: found, figures };
    progress(`${what}: ${cases} cases`);
  }
  return { cases, violations: [], figures };
}
