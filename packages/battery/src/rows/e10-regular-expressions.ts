import { type Attack, attacksOn, attackText } from "../redos/attacks.ts";
import { contractPatterns } from "../redos/contract-patterns.ts";
import { type MatchTimer, matchTimer } from "../redos/match-time.ts";
import { type Pattern, sourcePatterns } from "../redos/source-patterns.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

const limitMs = 5;
const longLength = 100_000;
/** Long enough that a quadratic pattern differs from a linear one by a factor of hundreds. */
const shortLength = 3_000;
/** Exponential ones are known by a text that is hardly longer than the pattern. */
const tinyLength = 40;
/** How many of the attacks that were slowest on short texts are tried at full length. */
const finalists = { sample: 4, full: 30 } as const;
/** Of one text at most; a search that is under half of the limit is not repeated. */
const repeats = 9;

export const row: Row = {
  id: "E10",
  title: "No text of 100 kB keeps a regular expression of the product busy for 5 ms",
  minutes: 0.2,
  mutants: [
    {
      name: "nested-repeat-in-contract",
      removes: "the plain form of a name's pattern in the contract",
      patches: [
        {
          file: "docs/api/openapi.yaml",
          find: 'ResourceName: { type: string, minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" }',
          replace: 'ResourceName: { type: string, minLength: 1, maxLength: 63, pattern: "^([a-z0-9]+-?)+$" }',
        },
      ],
      expects: /openapi\.yaml\/components\/schemas\/ResourceName.* takes/,
    },
    {
      name: "quadratic-e-mail",
      removes: "the e-mail pattern whose parts share no character",
      patches: [
        {
          file: "docs/api/openapi.yaml",
          find: "@[^\\\\s@.\\\\x00-\\\\x1f]+(\\\\.[^\\\\s@.\\\\x00-\\\\x1f]+)+$",
          replace: "@[^\\\\s@\\\\x00-\\\\x1f]+\\\\.[^\\\\s@\\\\x00-\\\\x1f]+$",
        },
      ],
      expects: /openapi\.yaml\/components\/schemas\/Email.* takes/,
    },
    {
      name: "nested-repeat-in-source",
      removes: "the plain form of the pattern of content types",
      patches: [
        {
          file: "apps/api/src/platform/request-body.ts",
          find: "[a-z0-9.-]+\\+json)",
          replace: "([a-z0-9]+[.-]?)+\\+json)",
        },
      ],
      expects: /request-body\.ts:\d+ .*takes/,
    },
  ],
  run,
};

async function run({ scale, progress }: RowRun): Promise<RowResult> {
  const sources = sourcePatterns();
  const contract = contractPatterns();
  const violations = sources.unknown.map((place) => `${place} makes a regular expression nobody can read`);
  if (contract.length === 0) violations.push("the contract has no pattern: nothing was read");
  if (sources.patterns.length === 0) violations.push("the sources have no pattern: nothing was read");

  const patterns = new Map<string, Pattern>();
  for (const pattern of [...contract, ...sources.patterns]) {
    const key = `/${pattern.source}/${pattern.flags}`;
    if (!patterns.has(key)) patterns.set(key, pattern);
  }
  const time = matchTimer();
  let cases = 0;
  let slowestMs = 0;
  let saidAt = performance.now();
  for (const [text, pattern] of patterns) {
    const worst = worstOf(pattern, time, finalists[scale]);
    cases += worst.tried;
    slowestMs = Math.max(slowestMs, worst.ms);
    if (worst.ms >= limitMs)
      violations.push(
        `${pattern.place} ${text} takes ${worst.ms.toFixed(1)} ms for ${worst.length} characters of ` +
          `${JSON.stringify(worst.attack.lead.slice(0, 40))} + ${JSON.stringify(worst.attack.pump)}… + ${JSON.stringify(worst.attack.end)}`,
      );
    if (performance.now() - saidAt > 5_000) {
      saidAt = performance.now();
      progress(`${cases} texts tried`);
    }
  }
  return {
    cases,
    violations,
    figures: {
      patterns: patterns.size,
      "patterns in the contract": contract.length,
      "files read": sources.files,
      "slowest search in ms": slowestMs.toFixed(2),
    },
  };
}

type Worst = {
  readonly attack: Attack;
  readonly length: number;
  readonly ms: number;
  readonly tried: number;
};

/** The slowest search of this pattern: all attacks on short texts, the slowest of them on long ones. */
function worstOf({ source, flags }: Pattern, time: MatchTimer, count: number): Worst {
  const pattern = new RegExp(source, flags);
  let attacks = attacksOn(source);
  const tried = attacks.length;
  if (tried === 0) throw new Error(`no text to try on /${source}/`);
  for (const length of [tinyLength, shortLength]) {
    const ranked = slowestFirst(pattern, time, attacks, length);
    for (const { attack, ms } of ranked.slice(0, 3)) {
      if (ms < limitMs) break;
      // Once may have been the machine's doing.
      const again = bestOf(pattern, time, attack, length);
      if (again >= limitMs) return { attack, length, ms: again, tried };
    }
    if (length === shortLength) attacks = ranked.map(({ attack }) => attack);
  }
  const finals = attacks
    .slice(0, count)
    .map((attack) => ({ attack, ms: bestOf(pattern, time, attack, longLength) }));
  const slowest = finals.reduce((worst, each) => (each.ms > worst.ms ? each : worst));
  return { ...slowest, length: longLength, tried };
}

function slowestFirst(pattern: RegExp, time: MatchTimer, attacks: readonly Attack[], length: number) {
  const times = time(
    pattern,
    attacks.map((attack) => attackText(attack, length)),
  );
  return attacks
    .map((attack, index) => ({ attack, ms: times[index] ?? 0 }))
    .sort((one, other) => other.ms - one.ms);
}

function bestOf(pattern: RegExp, time: MatchTimer, attack: Attack, length: number): number {
  const text = attackText(attack, length);
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < repeats && best >= limitMs / 2; run += 1)
    best = Math.min(best, ...time(pattern, [text]));
  return best;
}
