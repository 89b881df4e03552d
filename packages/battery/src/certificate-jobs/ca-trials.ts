import { shuffled } from "../races/shuffled.ts";
import type { Scale } from "../row.ts";
import { type CaFault, type CaPlace, problem } from "./ca-faults.ts";
import type { CertificateStage, SeenFailure } from "./certificate-stage.ts";
import { issuedOnce, type KnownKeys, standingOf } from "./issued-once.ts";

/** A CA that fails while a certificate is issued anew. */
type CaTrial = {
  readonly name: string;
  readonly faults?: readonly CaFault[];
  /** The CA is repaired once so many attempts have failed. 0: none may fail. */
  readonly attempts: number;
  /** Of each failed attempt. */
  readonly code?: string;
  /** The CA asks to wait so long. */
  readonly retryAfterSeconds?: number;
  /** How many orders may be placed; one where nothing is lost. */
  readonly orders?: number;
  /** The answer of the challenge is removed from the name servers before the CA looks for it. */
  readonly losesChallenge?: boolean;
};

const sampled = { sample: 5, full: Number.POSITIVE_INFINITY };
const firstPauseSeconds = 60;
const longestPauseSeconds = 12 * 3_600;
/** Between the times of two statements of one transaction. */
const toleranceSeconds = 2;

const places: readonly CaPlace[] = [
  ...(["new order", "authorization", "challenge", "order", "finalize", "certificate"] as const),
];
/** An attempt that ends before the order is kept begins another one. */
const beforeItIsKept = new Set<CaPlace>(["authorization"]);
const oneFailure = { attempts: 1, code: "ca_unavailable" } as const;

const page = "<html><body>busy</body></html>";
const html = { "Content-Type": "text/html" };

/** Each kind of failure at each place. */
const everywhere: readonly CaTrial[] = places.flatMap((at): CaTrial[] => {
  const orders = beforeItIsKept.has(at) ? 2 : 1;
  const answer = (status: number): CaFault => ({
    at,
    do: "answer",
    when: "before",
    answer: { status, headers: html, body: page },
  });
  return [
    { name: `cut at ${at}`, faults: [{ at, do: "cut" }], orders, ...oneFailure },
    {
      name: `answers lost at ${at}`,
      faults: [{ at, do: "lost" }],
      orders: at === "new order" ? 2 : orders,
      ...oneFailure,
    },
    { name: `500 at ${at}`, faults: [answer(500)], orders, ...oneFailure },
    { name: `502 of a proxy at ${at}`, faults: [answer(502)], orders, ...oneFailure },
  ];
});

const garbage: readonly CaTrial[] = (["new order", "order", "finalize", "certificate"] as const).map(
  (at) => ({
    name: `garbage at ${at}`,
    faults: [{ at, do: "answer", when: "after", answer: { headers: html, body: page } }],
    // It was placed, and nobody knows where.
    orders: at === "new order" ? 2 : 1,
    ...oneFailure,
  }),
);

const refused = (at: CaPlace, status: number, type: string, headers = {}): CaFault => ({
  at,
  do: "answer",
  when: "before",
  answer: problem(status, type, "refused", headers),
});

/** Those that the row's mutants show in. */
const always: readonly CaTrial[] = [
  {
    name: "a certificate of another key",
    faults: [{ at: "finalize", do: "flawed", flaw: "of another key", calls: 1 }],
    orders: 2,
    ...oneFailure,
  },
  {
    name: "a limit that has been reached",
    faults: [refused("new order", 429, "rateLimited", { "Retry-After": "10800" })],
    attempts: 1,
    code: "ca_rate_limited",
    retryAfterSeconds: 10_800,
  },
  {
    name: "away for three attempts in the middle of an order",
    faults: [{ at: "order", do: "cut" }],
    attempts: 3,
    code: "ca_unavailable",
  },
  {
    name: "the answer of the challenge is gone",
    losesChallenge: true,
    attempts: 1,
    code: "ca_unauthorized",
    orders: 2,
  },
];

const others: readonly CaTrial[] = [
  ...everywhere,
  ...garbage,
  ...(["expired", "of another chain"] as const).map((flaw) => ({
    name: `a certificate ${flaw}`,
    faults: [{ at: "finalize", do: "flawed", flaw, calls: 1 } as const],
    orders: 2,
    ...oneFailure,
  })),
  { name: "away altogether", faults: [{ at: "anywhere", do: "cut" }], attempts: 2, code: "ca_unavailable" },
  {
    name: "503 that asks to wait for two hours",
    faults: [refused("finalize", 503, "serverInternal", { "Retry-After": "7200" })],
    attempts: 1,
    code: "ca_unavailable",
    retryAfterSeconds: 7_200,
  },
  {
    name: "429 without a reason",
    faults: [
      {
        at: "new order",
        do: "answer",
        when: "before",
        answer: { status: 429, headers: { ...html, "Retry-After": "900" }, body: page },
      },
    ],
    retryAfterSeconds: 900,
    ...oneFailure,
  },
  ...places.map((at) => ({
    name: `a nonce refused three times at ${at}`,
    faults: [{ ...refused(at, 400, "badNonce"), calls: 3 }],
    attempts: 0,
  })),
  {
    name: "nonces refused for ever",
    faults: [refused("new order", 400, "badNonce")],
    attempts: 1,
    code: "ca_refused",
  },
  {
    name: "a CAA record that is none of ours",
    faults: [refused("new order", 403, "caa")],
    attempts: 1,
    code: "ca_caa",
  },
  {
    name: "an order that it has forgotten",
    faults: [refused("order", 404, "malformed")],
    attempts: 1,
    code: "order_lost",
    orders: 2,
  },
  {
    name: "an account that it has forgotten",
    faults: [refused("new order", 400, "accountDoesNotExist")],
    attempts: 1,
    code: "order_lost",
  },
  {
    name: "busy with the certificate",
    faults: [{ at: "finalize", do: "busy", reads: 3, calls: 1 }],
    attempts: 0,
  },
];

/** Those of a run: a sample has some at random beside those that are always tried. */
export function caTrials(scale: Scale, random: () => number): readonly CaTrial[] {
  return [...always, ...shuffled(others, random).slice(0, sampled[scale])];
}

/** Has the certificate issued anew by a CA that fails. */
export async function failingCa(stage: CertificateStage, keys: KnownKeys, trial: CaTrial): Promise<string[]> {
  const { ca } = stage;
  const before = await standingOf(stage);
  await stage.renew();
  await stage.world.makeKey();
  ca.fail(...(trial.faults ?? []));
  let isLost = false;
  if (trial.losesChallenge === true)
    ca.beforeLook = async (name) => {
      if (!isLost) await loseAnswer(stage, name);
      isLost = true;
    };
  const { found, failures } = await stage.drive({
    onFailure: ({ length }) => {
      if (length >= trial.attempts) ca.recover();
    },
  });
  const wasMet = isLost || ca.met > 0;
  ca.recover();
  ca.beforeLook = async () => {};
  if (!wasMet) found.push("the CA has not failed");
  found.push(...pauseProblems(trial, failures));
  if ((await stage.order()) === null) found.push(...(await issuedOnce(stage, before, keys, trial)));
  return found.map((text) => `${trial.name}: ${text}`);
}

/** Attempts are bounded, and each waits for as long as it has to. */
function pauseProblems(
  { attempts, code, retryAfterSeconds = 0 }: CaTrial,
  failures: readonly SeenFailure[],
): string[] {
  const found: string[] = [];
  if (failures.length !== attempts)
    found.push(`${failures.length} attempts have failed: ${failures.map((each) => each.code).join(", ")}`);
  for (const [index, failure] of failures.entries()) {
    const own = Math.min(longestPauseSeconds, firstPauseSeconds * 2 ** index);
    const least = Math.max(own, retryAfterSeconds);
    if (failure.code !== code) found.push(`an attempt has failed with ${failure.code}, not ${code}`);
    if (Math.abs(failure.pauseSeconds - least) > toleranceSeconds)
      found.push(`after ${index + 1} failures it waits ${failure.pauseSeconds} s, and ${least} s were due`);
  }
  return found;
}

/** Somebody empties the record at the DNS provider. */
async function loseAnswer({ world, domain }: CertificateStage, name: string): Promise<void> {
  const { provider } = world.served;
  const zone = await provider.readZone(domain.name);
  const record = zone?.recordSets.find(
    (each) => each.type === "TXT" && each.name.startsWith("_acme-challenge."),
  );
  if (record === undefined) throw new Error(`nothing is answered for ${name}`);
  await provider.changeZone(domain.name, [{ change: "delete", name: record.name, type: record.type }]);
}
