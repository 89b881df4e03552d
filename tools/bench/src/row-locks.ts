import { setTimeout as delay } from "node:timers/promises";
import { createScene } from "./create-scene.ts";
import { type Installation, ownerClient } from "./installation.ts";
import { closedLoop } from "./load.ts";
import type { Row } from "./table.ts";

const CLIENTS = 16;
const pauseMs = 5;
const aim = 0.1;

/**
 * How often a connection of the API that is at work waits for a lock of another one, while all clients create in one
 * subnet, and while they create in subnets of one organisation.
 */
export async function lockRows(installation: Installation, seconds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [where, slug, subnets] of [
    ["one subnet", "lock1", 1],
    [`${CLIENTS} subnets of one organisation`, "lock16", CLIENTS],
  ] as const) {
    const scene = await createScene(installation, slug, CLIENTS, subnets);
    await closedLoop(CLIENTS, 1, scene.create);
    const { waiting, working } = await sampleLocks(installation, () =>
      closedLoop(CLIENTS, seconds / 2, scene.create),
    );
    scene.close();
    const share = waiting / Math.max(1, working);
    rows.push({
      what: `waits for a lock, ${CLIENTS} clients in ${where}`,
      ours: `${waiting} samples`,
      floor: `${working} samples at work`,
      ratio: share.toFixed(3),
      aim: `≤ ${aim.toFixed(2)}`,
      reached: working > 0 && share <= aim,
    });
  }
  return rows;
}

async function sampleLocks(installation: Installation, work: () => Promise<unknown>) {
  const owner = await ownerClient(installation);
  let [waiting, working] = [0, 0];
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const { rows } = await owner.query<{ waiting: number; working: number }>({
      name: "bench_locks",
      text: `select count(*) filter (where wait_event_type = 'Lock')::int as waiting, count(*)::int as working
               from pg_stat_activity where usename = 'kule_api' and state = 'active'`,
    });
    waiting += rows[0]?.waiting ?? 0;
    working += rows[0]?.working ?? 0;
    await delay(pauseMs);
  }
  await done;
  await owner.end();
  return { waiting, working };
}
