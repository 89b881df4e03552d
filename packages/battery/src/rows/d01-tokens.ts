import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld } from "@kule/api/testing/api-world";
import type { SourcePatch } from "@kule/build/source-patch";
import pg from "pg";
import type { Row, RowResult, RowRun } from "../row.ts";
import { dumpDatabase } from "../secret-search/database-dump.ts";
import { searchSecrets, secretViolations } from "../secret-search/secret-search.ts";
import { type MintedToken, mintEveryKind } from "../tokens/minted-tokens.ts";
import { countStatements, type StatementCounter } from "../tokens/statement-counter.ts";
import { hasRightChecksum, randomTokenText, typosOf } from "../tokens/token-checksum.ts";

const counts = {
  sample: { random: 20_000, rounds: 1, overHttp: 100 },
  full: { random: 1_000_000, rounds: 5, overHttp: 2_000 },
} as const;
/** More of them prove nothing new, and each is a query. */
const maxLookups = 200;
const characterOfSecret = 38;

function storedPlain(migration: string, column: string, secret: string): SourcePatch {
  return {
    file: `packages/database/src/migrations/0001-baseline/${migration}.ts`,
    find: `${column} = sha256(convert_to(${secret}, 'UTF8'))`,
    replace: `${column} = convert_to(${secret}, 'UTF8')`,
  };
}

export const row: Row = {
  id: "D1",
  title: "A mistyped or guessed token is refused without a query, and no stored token can be used",
  minutes: 0.3,
  mutants: [
    {
      name: "checksum-not-verified",
      removes: "the test of a token's checksum",
      patches: [
        {
          file: "apps/api/src/platform/tokens.ts",
          find: "if (checksum(text.slice(0, -6)) !== sum) return null;",
          replace: "if (sum === undefined) return null;",
        },
      ],
      expects: /was looked up/,
    },
    {
      name: "token-stored-plain",
      removes: "the hash over a stored token",
      patches: [
        {
          file: "apps/api/src/platform/tokens.ts",
          find: 'return createHash("sha256").update(secret).digest();',
          replace: "return createHash === null ? Buffer.alloc(0) : Buffer.from(secret);",
        },
        // The database compares secrets as well, and would refuse what is stored in another way than it expects.
        storedPlain("tokens", "t.secret_hash", "minter_secret"),
        storedPlain("sign-in-functions", "s.secret_hash", "proof ->> 'secret'"),
        storedPlain("sign-in-functions", "t.secret_hash", "proof ->> 'secret'"),
      ],
      expects: /table .*token holds .* token/,
    },
  ],
  run,
};

async function run({ scale, random, progress }: RowRun): Promise<RowResult> {
  const { random: randomTexts, rounds, overHttp } = counts[scale];
  const world = await ApiWorld.open();
  const lookups = countStatements(/from "token"/);
  try {
    const { tokens } = world.replica.deps;
    const violations: string[] = [];
    const minted: MintedToken[] = [];
    for (let round = 0; round < rounds; round += 1) minted.push(...(await mintEveryKind(world, round)));
    violations.push(...(await refusedThatAreRight(world, minted)));
    if (lookups.taken() === 0) violations.push("no look-up of a right token was seen: the counter is blind");

    const refused = async (text: string, what: string): Promise<boolean> => {
      // The cached result of the real token must not replace a query.
      tokens.dropCallers();
      if ((await tokens.callerOf(text)) !== null)
        violations.push(`${what} came in: ${text.length} characters`);
      const times = lookups.taken();
      if (times > 0) violations.push(`${what} was looked up`);
      return times > 0;
    };
    let cases = 0;
    let lucky = 0;
    for (let lookedUp = 0; cases < randomTexts && lookedUp < maxLookups; cases += 1) {
      const text = randomTokenText(random);
      if (hasRightChecksum(text)) lucky += 1;
      else if (await refused(text, "a random text with a wrong checksum")) lookedUp += 1;
      if (cases % 200_000 === 199_999) progress(`${cases + 1} random texts`);
    }
    progress("typos");
    const typos = minted.flatMap(({ kind, secret }) => typosOf(secret).map((text) => ({ kind, text })));
    let typosTried = 0;
    for (let lookedUp = 0; typosTried < typos.length && lookedUp < maxLookups; typosTried += 1) {
      const { kind, text } = typos[typosTried] ?? { kind: "", text: "" };
      if (await refused(text, `a mistyped ${kind} token`)) lookedUp += 1;
    }
    const asked = Math.min(overHttp, typos.length);
    for (let call = 0; call < asked; call += 1) {
      tokens.dropCallers();
      violations.push(...(await refusedOverHttp(world, lookups, typos[Math.floor(random() * typos.length)])));
    }
    const stored = await storedTokens(world, minted);
    violations.push(...stored.violations, ...scannerViolations(minted));
    return {
      cases: cases + typosTried + asked + minted.length,
      violations: [...new Set(violations)],
      figures: {
        "random texts": cases,
        "with the right checksum by chance": lucky,
        typos: typosTried,
        "typos sent over HTTP": asked,
        "bytes of the database searched": stored.bytes,
      },
    };
  } finally {
    lookups.stop();
    await world.close();
  }
}

/** The control of all that follows: valid tokens are accepted. */
async function refusedThatAreRight(world: ApiWorld, minted: readonly MintedToken[]): Promise<string[]> {
  const violations: string[] = [];
  for (const { kind, secret } of minted) {
    const { status } = await new ApiCaller(world.app, secret).get("/me");
    if (status !== 200) violations.push(`a right ${kind} token is answered ${status}`);
  }
  return violations;
}

async function refusedOverHttp(
  world: ApiWorld,
  lookups: StatementCounter,
  typo: { readonly kind: string; readonly text: string } | undefined,
): Promise<string[]> {
  if (typo === undefined) return ["there is no typo to send"];
  const { status, body } = await new ApiCaller(world.app, null).get("/me", {
    Authorization: `Bearer ${typo.text}`,
  });
  const violations = [];
  if (status !== 401) violations.push(`a mistyped ${typo.kind} token is answered ${status} over HTTP`);
  if (JSON.stringify(body).includes(typo.text.slice(-characterOfSecret)))
    violations.push(`the answer to a mistyped ${typo.kind} token repeats it`);
  if (lookups.taken() > 0) violations.push(`a mistyped ${typo.kind} token over HTTP was looked up`);
  return violations;
}

/** In the database there is the SHA-256 of each token and nothing else of its secret part. */
async function storedTokens(world: ApiWorld, minted: readonly MintedToken[]) {
  const violations: string[] = [];
  const owner = new pg.Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  for (const { kind, secret } of minted) {
    const sha256 = createHash("sha256").update(secret).digest();
    const { rows } = await owner.query("select id from token where secret_hash = $1", [sha256]);
    if (rows.length !== 1) violations.push(`a ${kind} token is not stored as its SHA-256`);
  }
  const { rows: odd } = await owner.query("select kind from token where octet_length(secret_hash) <> 32");
  if (odd.length > 0) violations.push(`${odd.length} tokens are stored as something other than 32 bytes`);
  await owner.end();

  const dumped = await dumpDatabase(world.database.ownerUrl);
  const secrets = minted.flatMap(({ kind, secret }) => [
    { what: `a ${kind} token`, value: secret },
    { what: `the secret part of a ${kind} token`, value: secret.slice(-characterOfSecret) },
  ]);
  const sinks = dumped
    .filter(({ rows }) => rows > 0)
    .map(({ name, text }) => ({ name: `table ${name}`, text, control: text.slice(0, 100) }));
  if (!sinks.some(({ name }) => name === "table public.token"))
    violations.push("the dump has no tokens in it");
  const result = searchSecrets(secrets, sinks);
  for (const { name, text } of sinks)
    if (scannerPattern().test(text)) violations.push(`${name} holds a text in the form of a whole token`);
  return { violations: [...violations, ...secretViolations(result)], bytes: result.bytes };
}

/** The pattern that is published for secret scanners. */
function scannerPattern(): RegExp {
  const file = resolve(join(import.meta.dirname, "../../../../docs/products/identity.md"));
  const published = /`(\\bkule_[^`]+)`/.exec(readFileSync(file, "utf8"))?.[1];
  if (published === undefined) throw new Error("docs/products/identity.md publishes no pattern for scanners");
  return new RegExp(published);
}

function scannerViolations(minted: readonly MintedToken[]): string[] {
  const surroundings: readonly ((secret: string) => string)[] = [
    (secret) => secret,
    (secret) => `export TOKEN=${secret}\n`,
    (secret) => `{"token":"${secret}"}`,
    (secret) => `https://x.example/?token=${secret}&a=b`,
    (secret) => `Authorization: Bearer ${secret}\r\n`,
  ];
  return minted.flatMap(({ kind, secret }) =>
    surroundings
      .filter((write) => scannerPattern().exec(write(secret))?.[0] !== secret)
      .map((write) => `the scanners' pattern does not find a ${kind} token in ${write("…").trim()}`),
  );
}
