import { setTimeout as delay } from "node:timers/promises";
import { type RegionWorld, startRegionWorld } from "@kule/testing/region-world";
import { History } from "@kule/testing/rig/history";
import { totalQueue, uniqueIds } from "@kule/testing/rig/history-checkers";
import { JobJournal, jobChangeViolations } from "@kule/testing/rig/job-journal";
import { PostgresCluster } from "@kule/testing/rig/postgres-cluster";
import { viewOfControlServer } from "@kule/testing/world-check/region-invariants";
import pg from "pg";
import { type Account, createPersistently, type PersistentCreate } from "../monkey/persistent-creates.ts";
import { type MonkeyPace, PostgresMonkey, type Restart } from "../monkey/postgres-monkey.ts";
import { inParallel } from "../races/in-parallel.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

type Size = {
  readonly creates: number;
  readonly clients: number;
  readonly restarts: number;
  readonly seconds: number;
  readonly pace: MonkeyPace;
};

/** It ends after so many accepted creates and survived restarts; what takes longer is aborted. */
const SCALE: { readonly [scale in RowRun["scale"]]: Size } = {
  sample: {
    creates: 60,
    clients: 10,
    restarts: 3,
    seconds: 120,
    pace: { terminateEveryMs: 200, upSeconds: [1.5, 2.5], downSecondsAtMost: 0.5 },
  },
  full: {
    creates: 5_000,
    clients: 24,
    restarts: 8,
    seconds: 400,
    pace: { terminateEveryMs: 200, upSeconds: [5, 10], downSecondsAtMost: 2 },
  },
};
/** This many wrong answers are enough. */
const ENOUGH_WRONG = 10;
/** Their first subnet has 253 addresses, and creates continue, a second apart, during restarts. */
const SERVERS_OF_AN_ORGANISATION = 120;
/** For the API to serve again after Postgres takes connections, with connections still dying all the time. */
const RECOVERS_WITHIN_SECONDS = 10;

export const row: Row = {
  id: "A10",
  title:
    "While Postgres is killed and restarted, accepted requests are kept, once each, and the API recovers by itself.",
  minutes: 2,
  mutants: [
    {
      name: "no-idle-error-handler",
      removes: "the handler of errors on idle connections",
      patches: [
        {
          file: "apps/api/src/platform/database.ts",
          find: 'pool.on("error", onError);',
          replace: "",
        },
      ],
      expects: /the (API|worker) ended/,
    },
    {
      name: "unknown-is-a-bug",
      removes: "the difference between an answer of Postgres and a lost connection",
      patches: [
        {
          file: "apps/api/src/platform/database.ts",
          find: ": new DatabaseAway(error);",
          replace: ": error;",
        },
      ],
      expects: /was answered 500/,
    },
    {
      name: "commits-in-memory",
      removes: "the wait for the disk before a create is acknowledged",
      patches: [
        {
          file: "apps/api/src/platform/database.ts",
          find: "-c client_min_messages=notice",
          replace: "-c client_min_messages=notice -c synchronous_commit=off",
        },
      ],
      expects: /was accepted and is not there/,
    },
  ],
  async run(run) {
    const cluster = await PostgresCluster.open();
    let world: RegionWorld | null = null;
    try {
      world = await startRegionWorld({ database: cluster.database, leaseSeconds: 10, labSize: 20 });
      return await underMonkey(run, cluster, world);
    } finally {
      await world?.end();
      await cluster.close();
    }
  },
};

async function underMonkey(run: RowRun, cluster: PostgresCluster, world: RegionWorld) {
  const size = SCALE[run.scale];
  const accounts = await openAccounts(world, Math.ceil(size.creates / SERVERS_OF_AN_ORGANISATION));
  const journal = await JobJournal.install(cluster.database.ownerUrl);
  const agent = world.startAgent({ KULE_AGENT_CONCURRENCY: "2" });
  const { api, worker } = world;
  const history = new History();
  const giveUp = new AbortController();
  const overtime = setTimeout(() => giveUp.abort(), size.seconds * 1000);
  for (const each of [api, worker, agent]) void each.ended.then(() => giveUp.abort());
  const monkey = new PostgresMonkey(cluster, size.pace, run.random);
  const startedAt = performance.now();
  const creates: PersistentCreate[] = [];
  const shown = setInterval(
    () => run.progress(`${creates.length} creates, ${monkey.restarts.length} restarts of Postgres`),
    10_000,
  );
  /** Each client continues until there were enough creates and enough restarts. */
  let asked = 0;
  let wrong = 0;
  const client = async () => {
    while (!giveUp.signal.aborted && (asked < size.creates || monkey.restarts.length < size.restarts)) {
      if (asked >= size.creates) await delay(1000);
      const account = accounts[asked % accounts.length];
      asked += 1;
      if (account === undefined) throw new Error("there is no organisation to create in");
      const name = `server-${asked}`;
      const create = await createPersistently(account, name, {
        history,
        random: run.random,
        giveUp: giveUp.signal,
      });
      creates.push(create);
      wrong += create.wrong.length;
      if (wrong >= ENOUGH_WRONG) giveUp.abort();
    }
  };
  await Promise.all(Array.from({ length: size.clients }, client));
  const seconds = (performance.now() - startedAt) / 1000;
  clearInterval(shown);
  clearTimeout(overtime);
  await monkey.stop();

  const violations = creates.flatMap(({ wrong }) => wrong);
  for (const each of [api, worker, agent])
    if (!each.running())
      violations.push(`the ${each.name === "api" ? "API" : each.name} ended: ${each.output().slice(-1500)}`);
  const unaccepted = creates.filter(({ accepted }) => accepted === null).length;
  if (unaccepted > 0)
    violations.push(
      `${unaccepted} of ${creates.length} creates were not accepted in ${Math.round(seconds)} s`,
    );
  if (monkey.restarts.length < size.restarts)
    violations.push(`Postgres was restarted ${monkey.restarts.length} times, not ${size.restarts}`);
  if (api.running()) violations.push(...(await servesAgain(accounts)));
  // Its jobs are released, so that nothing changes while the world is checked.
  await agent.end();
  const recovery = recoveries(monkey.restarts, creates);
  violations.push(
    ...recovery.violations,
    ...(await wronglyThere(cluster.database.ownerUrl, history, creates)),
    ...jobChangeViolations(await journal.changes()),
    ...(await worldViolations(cluster.database.ownerUrl, "in the end", [
      await viewOfControlServer("lab1", world.labControlUrl),
    ])),
  );
  const attempts = creates.flatMap((create) => create.attempts);
  const answered = (status: number | null) => attempts.filter((attempt) => attempt.status === status).length;
  return {
    cases: creates.length,
    violations,
    recoverySeconds: recovery.seconds,
    figures: {
      "creates accepted": creates.length - unaccepted,
      "answers of 503 on the way": answered(503),
      "no answer": answered(null),
      "restarts of Postgres": monkey.restarts.length,
      "backends terminated": [...monkey.terminated.values()].reduce((sum, count) => sum + count, 0),
      "creates a second": Math.round(creates.length / seconds),
    },
  };
}

async function openAccounts(world: RegionWorld, count: number): Promise<Account[]> {
  return inParallel(count, 4, async (index) => {
    const { data, error } = await world.operator.POST("/organisations", {
      body: { slug: `monkey-${index}`, name: `Monkey ${index}` },
    });
    if (data === undefined) throw new Error(JSON.stringify(error));
    return { apiUrl: world.apiUrl, token: world.operatorToken, organisationId: data.id };
  });
}

/** From each start of Postgres to the first create that was accepted after it. */
function recoveries(
  restarts: readonly Restart[],
  creates: readonly PersistentCreate[],
): { seconds: number[]; violations: string[] } {
  const successes = creates
    .flatMap(({ attempts }) => attempts.filter(({ status }) => status === 202).map(({ atMs }) => atMs))
    .sort((one, other) => one - other);
  const seconds: number[] = [];
  const violations: string[] = [];
  for (const [index, { upAtMs, mode }] of restarts.entries()) {
    const first = successes.find((atMs) => atMs > upAtMs);
    // The clients may have ended by then; what follows is checked by `servesAgain`.
    if (first === undefined) continue;
    const waited = (first - upAtMs) / 1000;
    seconds.push(waited);
    if (waited > RECOVERS_WITHIN_SECONDS)
      violations.push(
        `nothing was accepted for ${waited.toFixed(1)} s after restart ${index + 1} (${mode}) of Postgres`,
      );
  }
  return { seconds, violations };
}

/**
 * With Postgres undisturbed the same API process must answer: at once, or as soon as it has dropped broken
 * connections.
 */
async function servesAgain([account]: readonly Account[]): Promise<string[]> {
  if (account === undefined) return ["there is no organisation to look into"];
  const deadline = performance.now() + RECOVERS_WITHIN_SECONDS * 1000;
  let inARow = 0;
  let last = "nothing";
  while (inARow < 40) {
    const answer = await fetch(`${account.apiUrl}/servers?limit=1`, {
      headers: { Authorization: `Bearer ${account.token}`, "Kule-Organisation": account.organisationId },
      signal: AbortSignal.timeout(10_000),
    }).catch((error: unknown) => ({ ok: false, status: String(error), text: async () => "" }));
    await answer.text();
    last = String(answer.status);
    inARow = answer.ok ? inARow + 1 : 0;
    if (!answer.ok && performance.now() > deadline)
      return [`${RECOVERS_WITHIN_SECONDS} s after the last outage reads are still answered ${last}`];
    if (!answer.ok) await delay(100);
  }
  return [];
}

/** How the database differs from the clients' answers. */
async function wronglyThere(
  ownerUrl: string,
  history: History,
  creates: readonly PersistentCreate[],
): Promise<string[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  const { rows } = await client.query<{ name: string; id: string; vmid: number; jobs: number; keys: number }>(
    `select s.name, s.id, v.vmid, (select count(*)::int from job j where j.resource_id = s.id and j.kind = 'ServerCreate') as jobs,
            (select count(*)::int from idempotency_key k where k.key = 'create-' || s.name) as keys
       from server s left join region_vmid v on v.server_id = s.id and v.state = 'used'`,
  );
  await client.end();
  for (const { name, id, vmid } of rows) {
    history.effect({ process: "postgres", operation: "dequeue", key: name, value: id });
    history.effect({ process: "postgres", operation: "generate", value: vmid });
  }
  const told = new Map(creates.map(({ name, accepted }) => [name, accepted]));
  const queue = totalQueue(history.events);
  return [
    ...queue.lost.map((name) => `${name} (${told.get(name)}) was accepted and is not there`),
    ...queue.unexpected.map((name) => `${name} is there and nobody asked for it`),
    ...queue.duplicated.map((name) => `${name} is there more than once`),
    ...uniqueIds(history.events).duplicated.map((vmid) => `VM number ${vmid} was given twice`),
    ...rows.flatMap(({ name, id, jobs, keys }) => {
      const accepted = told.get(name) ?? null;
      const wrong: string[] = [];
      if (accepted !== null && accepted !== id)
        wrong.push(`${name} is ${id}; its client was told ${accepted}`);
      if (jobs !== 1 || keys !== 1)
        wrong.push(`${name} has ${jobs} jobs and ${keys} idempotency records of its creation`);
      return wrong;
    }),
  ];
}
