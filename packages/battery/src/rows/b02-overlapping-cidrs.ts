import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ServerWorld } from "@kule/api/testing/server-world";
import pg from "pg";
import { answerText, tally } from "../races/answer-text.ts";
import { inParallel } from "../races/in-parallel.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";
import { overlapping, randomBlocks, rangeOf } from "../subnet-races/blocks.ts";

const clients = 25;
/** Fewer: without the API's lock, three that overlap soon deadlock, and each deadlock takes a second. */
const sqlClients = 6;

export const row: Row = {
  id: "B2",
  title:
    "Of overlapping blocks that are requested concurrently in a network, no two that are created overlap",
  minutes: 0.5,
  mutants: [
    {
      name: "no-exclusion-constraint",
      removes: "the exclusion constraint on the blocks of a network",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/networks.ts",
          find: `,
  constraint subnet_cidr_overlap exclude using gist (network_id with =, cidr inet_ops with &&)`,
          replace: "",
        },
      ],
      expects: /by SQL: .* overlaps/,
    },
    {
      name: "no-network-lock-no-constraint",
      removes: "the lock on the network's row, and the exclusion constraint behind it",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/networks.ts",
          find: `,
  constraint subnet_cidr_overlap exclude using gist (network_id with =, cidr inet_ops with &&)`,
          replace: "",
        },
        {
          file: "apps/api/src/products/networks/store.ts",
          find: `
    .forUpdate()`,
          replace: "",
        },
      ],
      expects: /through the API: .* overlaps/,
    },
  ],

  async run(run: RowRun) {
    const world = await ServerWorld.open({ poolSize: clients });
    try {
      const second = (await world.world.addReplica({ poolSize: clients })).app;
      const violations: string[] = [];
      const rounds = run.scale === "full" ? 6 : 2;
      let cases = 0;
      let made = 0;
      for (let round = 1; round <= rounds; round += 1) {
        const blocks = randomBlocks(run.random, 100);
        const [byApi, bySql, elsewhere] = [
          await newNetwork(world.owned, `api-${round}`, world.region),
          await newNetwork(world.owned, `sql-${round}`, world.region),
          await newNetwork(world.owned, `other-${round}`, world.region),
        ];
        // The same block in another network is no conflict, also not concurrently.
        const [answers, copies] = await Promise.all([
          inParallel(100, clients, (index) =>
            (index % 2 === 0 ? world.owned : world.owned.at(second)).post(
              `/networks/${byApi}/subnets`,
              subnet(index, blocks[index]),
            ),
          ),
          world.owned.post(`/networks/${elsewhere}/subnets`, subnet(0, blocks[0])),
        ]);
        violations.push(...judgeApi(`round ${round} through the API`, blocks, answers));
        if (copies.status !== 201)
          violations.push(`round ${round}: ${blocks[0]} in another network: ${answerText(copies)}`);
        const sql = await insertAtOnce(world, bySql, blocks);
        violations.push(...judge(`round ${round} by SQL`, blocks, sql));
        cases += 201;
        made += answers.filter(({ status }) => status === 201).length + sql.filter(Boolean).length;
        await removeSubnets(world, [byApi, bySql, elsewhere]);
        run.progress(`round ${round}: ${tally(answers)}`);
      }
      violations.push(...(await worldViolations(world.world.database.ownerUrl, "at the end")));
      return { cases, violations, figures: { "subnets that came to be": made } };
    } finally {
      await world.close();
    }
  },
};

const subnet = (index: number, cidr: string | undefined) => ({ name: `s-${index}`, tier: "app", cidr });

async function newNetwork(owner: ApiCaller, name: string, region: string): Promise<string> {
  const answer = await owner.post("/networks", { name, region, cidr: "10.0.0.0/8" });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.network.id as string;
}

function judgeApi(what: string, blocks: readonly string[], answers: readonly Answer[]): string[] {
  const odd = answers.filter((answer) => !/^(201|409 cidr_overlap)$/.test(answerText(answer)));
  return [
    ...(odd.length === 0 ? [] : [`${what}: answers that nothing explains: ${tally(odd)}`]),
    ...judge(
      what,
      blocks,
      answers.map(({ status }) => status === 201),
    ),
  ];
}

/** No two that exist overlap, and each that was refused overlaps with one that exists. */
function judge(what: string, blocks: readonly string[], made: readonly boolean[]): string[] {
  const there = blocks.filter((_, index) => made[index]);
  const violations = there.length === 0 ? [`${what}: none came to be`] : [];
  for (const [index, one] of there.entries())
    for (const other of there.slice(index + 1))
      if (overlapping(rangeOf(one), rangeOf(other))) violations.push(`${what}: ${one} overlaps ${other}`);
  for (const refused of blocks.filter((_, index) => !made[index]))
    if (!there.some((each) => overlapping(rangeOf(each), rangeOf(refused))))
      violations.push(`${what}: ${refused} was refused and overlaps with nothing`);
  return violations;
}

/**
 * Without the API's own check and lock, only the database refuses. Every block gets a VLAN, as the API would
 * allocate it.
 */
async function insertAtOnce(
  world: ServerWorld,
  networkId: string,
  blocks: readonly string[],
): Promise<boolean[]> {
  const pool = new pg.Pool({ connectionString: world.world.database.apiUrl, max: sqlClients });
  pool.on("error", () => {});
  try {
    return await inParallel(blocks.length, sqlClients, (index) =>
      insertSubnet(pool, networkId, index, blocks[index] ?? ""),
    );
  } finally {
    await pool.end();
  }
}

/** False when the database refuses the block. A deadlock is neither yes nor no: it is tried again. */
async function insertSubnet(pool: pg.Pool, networkId: string, index: number, cidr: string): Promise<boolean> {
  for (;;) {
    const state = await tryToInsert(pool, networkId, index, cidr);
    if (state !== "deadlock") return state === "made";
  }
}

async function tryToInsert(
  pool: pg.Pool,
  networkId: string,
  index: number,
  cidr: string,
): Promise<"made" | "refused" | "deadlock"> {
  const client = await pool.connect();
  const id = `${networkId.replace("net_", "sub_")}${index}`;
  try {
    await client.query("begin");
    await client.query(
      `insert into subnet (id, organisation_id, network_id, region, name, tier, cidr, gateway_ip, lowest_free_hint)
       select $1, organisation_id, id, region, $3, 'app', $4::cidr, host($4::cidr)::inet + 1, host($4::cidr)::inet + 2
         from network where id = $2`,
      [id, networkId, `s-${index}`, cidr],
    );
    await client.query(
      `update region_vlan set subnet_id = $1 where (region, vlan) = (
         select region, vlan from region_vlan where subnet_id is null order by vlan limit 1 for update skip locked)`,
      [id],
    );
    await client.query("commit");
    return "made";
  } catch (error) {
    await client.query("rollback");
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code === "23P01") return "refused";
    if (code === "40P01") return "deadlock";
    throw error;
  } finally {
    client.release();
  }
}

async function removeSubnets(world: ServerWorld, networkIds: readonly string[]): Promise<void> {
  await world.owner.query("delete from subnet where network_id = any($1::text[])", [networkIds]);
}
