import { made } from "@kule/api/testing/proofs/tenant";
import { makeSealingKeyPair } from "@kule/sealed-secret/sealed-secret";
import { worldCheck } from "@kule/testing/world-check/world-check";
import pg from "pg";
import { carriedViolations, SeeingAgent } from "../once-shown/agent-sees.ts";
import { type Loss, LostAnswers, type ShownOnce } from "../once-shown/lost-answers.ts";
import { type SecretOperation, secretOperations } from "../once-shown/secret-operations.ts";
import type { Row, RowResult, RowRun } from "../row.ts";
import { dumpDatabase } from "../secret-search/database-dump.ts";
import {
  type SearchResult,
  type Secret,
  searchSecrets,
  secretViolations,
} from "../secret-search/secret-search.ts";
import { callerAt } from "../served-api/api-over-http.ts";
import { startServedApi } from "../served-api/served-api.ts";

const roundsOf = { sample: 3, full: 24 } as const;
const losses: readonly Loss[] = ["on the way", "caller gone", "none"];

export const row: Row = {
  id: "C15",
  title: "A secret is answered once, is never repeated, and is not stored",
  minutes: 0.7,
  mutants: [
    {
      name: "answer-kept-with-its-secrets",
      removes: "the removal of secrets from a stored answer",
      patches: [
        {
          file: "apps/api/src/platform/mutation.ts",
          find: "storeAnswer(tx, request, key, reply, secretFields ?? [])",
          replace: "storeAnswer(tx, request, key, reply, secretFields === null ? secretFields : [])",
        },
      ],
      expects: /idempotency_key holds the console_password/,
    },
    {
      name: "new-hash-at-each-claim",
      removes: "the one hash for all claims of a create",
      patches: [
        {
          file: "apps/api/src/products/servers/payload.ts",
          find: `ssh_public_keys: server.ssh_public_keys,
    password_hash: server.password_hash,`,
          replace: `ssh_public_keys: server.ssh_public_keys,
    password_hash: server.password_hash?.replace(/.$/, String(Date.now() % 10)) ?? null,`,
        },
      ],
      expects: /is given another password than/,
    },
  ],
  run,
};

async function run({ scale, random, progress }: RowRun): Promise<RowResult> {
  const api = await startServedApi(1, {
    KULE_RATE_LIMIT_PER_HOUR: "100000000",
    KULE_RATE_LIMIT_BURST: "100000",
  });
  const owner = new pg.Pool({ connectionString: api.database.ownerUrl, max: 2 });
  const { url } = api.replicas[0] ?? { url: "" };
  const lost = await LostAnswers.open(url, random);
  try {
    const callers = {
      owner: callerAt(url, api.seeded.organisation_token),
      operator: callerAt(url, api.seeded.operator_token),
      region: api.seeded.region,
    };
    const agentCaller = callerAt(url, api.seeded.agent_token);
    const key = makeSealingKeyPair();
    const templates = [{ image: "windows-2022", ok: true }];
    const hypervisor = { kind: "proxmox", reachable: true, nodes: [] };
    made(
      await agentCaller.post("/agent/health", {
        agent_version: "0.1.0",
        hypervisor,
        templates,
        public_key: key.publicKey,
      }),
    );
    const operations = secretOperations(callers);
    const shown: ShownOnce[] = [];
    for (let round = 0; round < roundsOf[scale]; round += 1) {
      progress(`round ${round + 1}`);
      for (const [index, operation] of operations.entries())
        for (const loss of losses)
          shown.push(await lost.tryOut(operation, `n-${round}-${index}-${losses.indexOf(loss)}`, loss));
    }
    const violations = shown.flatMap((each) => each.violations);
    for (const operation of operations) violations.push(...(await madeOnce(operation, shown)));

    const secrets: Secret[] = shown.flatMap(({ operation: { field }, secret }) =>
      secret === null ? [] : [{ what: `the ${field}`, value: secret }],
    );
    progress("the database before the agent comes");
    const before = searchTables(secrets, await dumpDatabase(api.database.ownerUrl));

    const agent = new SeeingAgent(agentCaller, owner);
    await agent.work(random);
    const passwords = new Map(shown.map(({ name, secret }) => [name, secret]));
    violations.push(
      ...carriedViolations(agent.carried, (name) => passwords.get(name) ?? null, key.privateKey),
    );
    if (agent.carried.size === 0) violations.push("no password was ever given to an agent");

    progress("the database after the jobs");
    const carried = [...agent.carried.values()].flatMap(({ seen }) =>
      seen.flatMap(({ hash, sealed }) => [hash, sealed].filter((each) => each !== null)),
    );
    const hashes = [...new Set(carried)].map((value) => ({
      what: "what an agent needs of a password",
      value,
    }));
    const after = searchTables([...secrets, ...hashes], await dumpDatabase(api.database.ownerUrl));
    violations.push(...secretViolations(before), ...secretViolations(after));
    for (const { invariant, check, subject } of await worldCheck({ ownerUrl: api.database.ownerUrl }))
      violations.push(`${invariant} ${check}: ${subject}`);
    return {
      cases: shown.length,
      violations: [...new Set(violations)],
      figures: {
        "secrets searched for": secrets.length + hashes.length,
        "bytes of the database searched": before.bytes + after.bytes,
        "answers lost": shown.filter(({ loss }) => loss !== "none").length,
        "of them before the caller saw any of it": shown.filter(({ secret }) => secret === null).length,
        "steps repeated": [...agent.carried.values()].reduce((sum, { seen }) => sum + seen.length - 1, 0),
      },
    };
  } finally {
    await lost.close();
    await owner.end();
    await api.end();
  }
}

/** Of each name there is one, however often it was requested; after a disconnected caller, one at most. */
async function madeOnce(operation: SecretOperation, shown: readonly ShownOnce[]): Promise<string[]> {
  const names: unknown[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: { items: Record<string, unknown>[]; next_cursor: string | null } = made(
      await operation.caller.get(`${operation.list}?limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`),
    );
    names.push(...page.items.map(operation.nameOf));
    cursor = page.next_cursor;
  }
  return shown
    .filter((each) => each.operation === operation)
    .flatMap(({ name }) => {
      const count = names.filter((each) => each === name).length;
      return count === 1 ? [] : [`${operation.name}: ${name} is there ${count} times`];
    });
}

function searchTables(
  secrets: readonly Secret[],
  tables: Awaited<ReturnType<typeof dumpDatabase>>,
): SearchResult {
  const sinks = tables
    .filter(({ rows }) => rows > 0)
    .map(({ name, text }) => ({ name: `table ${name}`, text, control: text.slice(0, 100) }));
  return searchSecrets(secrets, sinks);
}
