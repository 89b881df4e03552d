import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ServerWorld } from "@kule/api/testing/server-world";
import { History } from "@kule/testing/rig/history";
import { totalQueue, uniqueIds } from "@kule/testing/rig/history-checkers";
import { type PostgresFault, PostgresFaultProxy } from "@kule/testing/rig/postgres-fault-proxy";
import { answerText } from "../races/answer-text.ts";
import { inParallel } from "../races/in-parallel.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** Creates whose COMMIT is done and whose reply is lost, and ones whose COMMIT never arrives. */
const SCALE = { sample: { done: 30, undone: 6 }, full: { done: 200, undone: 50 } };
/**
 * A request that is repeated after a lost reply commits nothing new, so many clients can lose theirs at the
 * same time.
 */
const CLIENTS = { "cut-reply": 4, "cut-before": 1 };
/** The transactions of creates, and no others. */
const ofCreates = { at: "commit", matches: /insert into "server"/ } as const;

export const row: Row = {
  id: "A11",
  title: "A create whose COMMIT is not confirmed is reported as unknown, and a retry finds it created once.",
  minutes: 0.4,
  mutants: [
    {
      name: "no-idempotency-lookup",
      removes: "the lookup of the answer that a key already got",
      patches: [
        {
          file: "apps/api/src/platform/idempotency.ts",
          find: "if (record === undefined) return null;",
          replace: "return null;",
        },
      ],
      expects: /asked again .* was answered 409 name_taken/,
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
      expects: /lost its COMMIT and was answered 500/,
    },
  ],
  async run(run) {
    const world = await ServerWorld.open();
    const proxy = await PostgresFaultProxy.open({ url: world.world.database.apiUrl, random: run.random });
    try {
      const replica = await world.world.addReplica({ databaseUrl: proxy.url });
      const history = new History();
      const { done, undone } = SCALE[run.scale];
      const recoverySeconds: number[] = [];
      const violations: string[] = [];
      let named = 0;
      for (const [count, action] of [
        [done, "cut-reply"],
        [undone, "cut-before"],
      ] as const) {
        const answers = await inParallel(count, CLIENTS[action], async () => {
          named += 1;
          const create = { world, history, caller: world.owned.at(replica.app), name: `server-${named}` };
          const { wrong, seconds } = await createWithoutCommit(run, proxy, { ...ofCreates, action }, create);
          recoverySeconds.push(seconds);
          return wrong;
        });
        violations.push(...answers.flat());
        run.progress(`${count} creates, ${action}`);
      }
      const counts = proxy.counts();
      for (const [action, count] of [
        ["cut-reply", done],
        ["cut-before", undone],
      ] as const)
        if ((counts[action] ?? 0) < count)
          violations.push(`only ${counts[action] ?? 0} of ${count} commits met ${action}`);
      violations.push(
        ...(await wronglyThere(world, history)),
        ...(await worldViolations(world.world.database.ownerUrl, "in the end")),
      );
      return {
        cases: done + undone,
        violations,
        recoverySeconds,
        figures: {
          "commits whose reply was lost": counts["cut-reply"] ?? 0,
          "commits that never arrived": counts["cut-before"] ?? 0,
        },
      };
    } finally {
      await world.close();
      await proxy.close();
    }
  },
};

type Create = {
  readonly world: ServerWorld;
  readonly history: History;
  readonly caller: ApiCaller;
  readonly name: string;
};

/** Creates a server whose commit meets this fault, repeats the request with the same key, and again. */
async function createWithoutCommit(
  run: RowRun,
  proxy: PostgresFaultProxy,
  fault: PostgresFault,
  { world, history, caller, name }: Create,
): Promise<{ wrong: string[]; seconds: number }> {
  const headers = { "Idempotency-Key": `${name}-${Math.floor(run.random() * 1e9)}` };
  // Bytes, since the same request again is the same bytes.
  const body = JSON.stringify(world.body({ name }));
  const post = () =>
    caller.send("POST", "/servers", body, { ...headers, "Content-Type": "application/json" });
  const operation = history.invoke({ process: name, operation: "enqueue", key: name, value: name });
  const off = proxy.add(fault);
  const lost = await post();
  off();
  const lostAt = performance.now();
  const wrong: string[] = [];
  const about = `${name}, whose commit met ${fault.action},`;
  const retryAfter = Number(lost.headers.get("retry-after"));
  if (lost.status !== 503 || !(retryAfter > 0))
    wrong.push(
      `${name} lost its COMMIT and was answered ${answerText(lost)} with Retry-After ${lost.headers.get("retry-after")}`,
    );
  const again = await post();
  const seconds = (performance.now() - lostAt) / 1000;
  if (again.status === 202) operation.ok(again.body.server.id);
  else operation.info(answerText(again));
  if (again.status !== 202) wrong.push(`asked again ${about} was answered ${answerText(again)}, not 202`);
  const isReplay = again.headers.get("idempotency-replayed") === "true";
  if (again.status === 202 && isReplay !== (fault.action === "cut-reply"))
    wrong.push(`asked again ${about} was ${isReplay ? "" : "not "}answered as a replay`);
  const third = await post();
  if (third.status === 202 && again.status === 202 && idsOf(third) !== idsOf(again))
    wrong.push(`asked a third time ${about} was answered ${idsOf(third)} and not ${idsOf(again)}`);
  return { wrong, seconds };
}

const idsOf = ({ body }: Answer) => `${body.server.id} with ${body.job.id}`;

/** How the database differs from what was acknowledged. */
async function wronglyThere(world: ServerWorld, history: History): Promise<string[]> {
  const rows = (await world.rows(
    `select s.name, s.id, v.vmid, (select count(*)::int from job j where j.resource_id = s.id) as jobs,
            (select count(*)::int from audit a where a.resource = s.id and a.action = 'server.create') as audits
       from server s left join region_vmid v on v.server_id = s.id`,
  )) as { name: string; id: string; vmid: number | null; jobs: number; audits: number }[];
  for (const { name, id, vmid } of rows) {
    history.effect({ process: "postgres", operation: "dequeue", key: name, value: id });
    history.effect({ process: "postgres", operation: "generate", value: vmid });
  }
  const queue = totalQueue(history.events);
  const acknowledged = new Map(
    history.events
      .filter(({ type, operation }) => type === "ok" && operation === "enqueue")
      .map(({ key, value }) => [key, value]),
  );
  return [
    ...queue.lost.map((name) => `${name} was accepted and is not there`),
    ...queue.unexpected.map((name) => `${name} is there and nobody asked for it`),
    ...queue.duplicated.map((name) => `${name} is there more than once`),
    ...uniqueIds(history.events).duplicated.map((vmid) => `VM number ${vmid} was given twice`),
    ...rows
      .filter(({ name, id }) => acknowledged.has(name) && acknowledged.get(name) !== id)
      .map(({ name, id }) => `${name} is ${id}; the client was told ${acknowledged.get(name)}`),
    ...rows
      .filter(({ jobs, audits }) => jobs !== 1 || audits !== 1)
      .map(({ name, jobs, audits }) => `${name} has ${jobs} jobs and ${audits} audit rows of its creation`),
  ];
}
