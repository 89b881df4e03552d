import {
  addressBucket,
  createLimit,
  type Found,
  loginLimit,
  ownerBucket,
  pollLimit,
  tokenAtReplicas,
} from "../limits/caller-limits.ts";
import { claimsUnderFlood } from "../limits/flood.ts";
import { requestSizes } from "../limits/request-sizes.ts";
import { type SlowKind, slowSenders } from "../limits/slow-senders.ts";
import type { Row, RowResult, RowRun } from "../row.ts";
import { HttpCaller } from "../served-api/http-call.ts";
import { type ServedApi, startServedApi } from "../served-api/served-api.ts";

/** The process checks once a second, and a busy machine is late. */
const slackSeconds = 4;
const headersSeconds = 10;
const requestSeconds = 30;

const scales = {
  sample: { claims: 60, senders: 50, slow: ["silent", "slow headers"] },
  full: { claims: 1000, senders: 200, slow: ["silent", "slow headers", "slow body", "slow chunks"] },
} as const satisfies Record<string, { claims: number; senders: number; slow: readonly SlowKind[] }>;

const authorise = "apps/api/src/platform/authorise.ts";

export const row: Row = {
  id: "C12",
  title: "No caller exceeds its share of the API, and agents keep theirs under any load of users",
  minutes: 0.8,
  mutants: [
    {
      name: "limiter-off",
      removes: "the limit of a bucket",
      patches: [
        {
          file: "apps/api/src/platform/rate-limit.ts",
          find: "const allowed = bucket.tokens >= 1;",
          replace: "const allowed = bucket.tokens >= -1e9;",
        },
      ],
      expects: /calls of one owner's tokens: \d+ were accepted/,
    },
    {
      name: "tokens-counted-apart",
      removes: "the bucket that all tokens of one owner share",
      patches: [{ file: authorise, find: "{caller.owner}", replace: "{caller.tokenId}" }],
      expects: /calls of one owner's tokens: \d+ were accepted/,
    },
    {
      name: "no-retry-after",
      removes: "Retry-After in an answer of 429",
      patches: [
        {
          file: "apps/api/src/platform/errors.ts",
          find: "this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));\n  }\n  override headers() {",
          replace:
            "this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));\n  }\n  headersBefore() {",
        },
      ],
      expects: /has no Retry-After/,
    },
    {
      name: "any-body-size",
      removes: "the limit of a body's size",
      patches: [
        {
          file: "apps/api/src/platform/request-body.ts",
          find: "if (declared > most) throw tooLarge(most);",
          replace: "",
        },
        {
          file: "apps/api/src/platform/request-body.ts",
          find: "if (size > most) throw tooLarge(most);",
          replace: "",
        },
      ],
      expects: /a body of 2 MiB in chunks: .* not 413/,
    },
    {
      name: "strangers-bodies-as-large-as-any",
      removes: "the smaller limit of bodies that need no token",
      patches: [
        {
          file: "apps/api/src/platform/request-body.ts",
          find: 'if (permission === "public") return withoutToken;',
          replace: "",
        },
      ],
      expects: /a sign-in of 17 KiB: .* not 413/,
    },
    {
      name: "agents-in-the-users-bucket",
      removes: "the agents' own bucket",
      patches: [
        {
          file: authorise,
          find: "const who = isAgent",
          replace: "const who = isAgent ? byAddress : isAgent",
        },
      ],
      expects: /an agent's claim is answered 429/,
    },
    {
      name: "guesses-not-counted",
      removes: "the bucket of an address' wrong tokens",
      patches: [
        {
          file: authorise,
          find: "if (caller === null) {\n    take(byAddress, usual);",
          replace: "if (caller === null) {",
        },
      ],
      expects: /wrong tokens from one address: \d+ were accepted/,
    },
    {
      name: "creates-not-counted",
      removes: "the bucket of an organisation's creates",
      patches: [
        { file: "apps/api/src/platform/operation.ts", find: "  countCreate(request);\n", replace: "" },
      ],
      expects: /creates of one organisation: \d+ were accepted/,
    },
    {
      name: "endless-patience",
      removes: "the time within which headers must arrive",
      patches: [
        {
          file: "apps/api/src/commands/serve.ts",
          find: "headersTimeout: 10_000, requestTimeout: 30_000",
          replace: "headersTimeout: 0, requestTimeout: 0",
        },
      ],
      expects: /slow headers: .* still open/,
    },
  ],
  run,
};

async function run({ scale, random, progress }: RowRun): Promise<RowResult> {
  const { claims, senders, slow } = scales[scale];
  const api = await startServedApi(2);
  const caller = new HttpCaller();
  try {
    const slowly = Promise.all(slow.map((kind) => judgeSlow(api, kind, senders)));
    const found: Found[] = [];
    const parts: readonly (readonly [string, () => Promise<Found>])[] = [
      ["calls of one owner's tokens", () => ownerBucket(api, caller)],
      ["one token at two replicas", () => tokenAtReplicas(api, caller)],
      ["wrong tokens", () => addressBucket(api)],
      ["failed logins", () => loginLimit(api, random)],
      ["creates", () => createLimit(api, caller)],
      ["polls", () => pollLimit(api, caller)],
      ["sizes", () => requestSizes(api)],
      ["claims under a flood", () => claimsUnderFlood(api, claims, progress)],
    ];
    for (const [name, part] of parts) {
      progress(name);
      found.push(
        await part().catch((error: unknown) => ({ cases: 1, violations: [`${name} broke off: ${error}`] })),
      );
    }
    progress("slow senders");
    found.push(...(await slowly));
    return {
      cases: found.reduce((sum, { cases }) => sum + cases, 0),
      violations: [...new Set(found.flatMap(({ violations }) => violations))],
      figures: Object.assign({}, ...found.map(({ figures }) => figures ?? {})),
    };
  } finally {
    caller.close();
    await api.end();
  }
}

/** A slow client is disconnected in time, and delays no other. */
async function judgeSlow(api: ServedApi, kind: SlowKind, senders: number): Promise<Found> {
  const limit =
    (kind === "slow body" || kind === "slow chunks" ? requestSeconds : headersSeconds) + slackSeconds;
  // At the second replica, so that the counts of the first are its callers' alone.
  const url = api.replicas[1]?.url ?? "";
  const lives = await slowSenders(kind, senders, Number(new URL(url).port), limit);
  const open = lives.filter((seconds) => seconds >= limit).length;
  const longest = Math.max(...lives);
  return {
    cases: lives.length,
    violations: open === 0 ? [] : [`${kind}: ${open} of ${lives.length} were still open after ${limit} s`],
    figures: { [`${kind} cut off after seconds`]: longest.toFixed(1) },
  };
}
