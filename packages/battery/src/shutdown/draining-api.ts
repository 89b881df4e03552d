import { setTimeout as delay } from "node:timers/promises";
import { History } from "@kule/testing/rig/history";
import { totalQueue } from "@kule/testing/rig/history-checkers";
import { type Account, createPersistently, type PersistentCreate } from "../monkey/persistent-creates.ts";
import type { Findings, Scene } from "./shutdown-scene.ts";

const CLIENTS = 12;
/** Running requests may take seven, and the whole stop stays under ten; the machine may be busy as well. */
const ENDS_WITHIN_SECONDS = 15;

export type DrainFindings = Findings & { readonly creates: number; readonly cut: number };

/**
 * Stops the API while clients create, again and again, and starts it on the same port. Every request that was
 * carried out must have been answered; others may be cut off, and the clients repeat them.
 */
export async function stopApi(scene: Scene, rounds: number): Promise<DrainFindings> {
  const { world, run, lives } = scene;
  const { data } = await world.operator.POST("/organisations", {
    body: { slug: "drained", name: "Drained" },
  });
  if (data === undefined) throw new Error("no organisation to create in");
  const account: Account = {
    apiUrl: world.apiUrl,
    token: world.operatorToken,
    organisationId: data.id,
  };
  const history = new History();
  const giveUp = new AbortController();
  const creates: PersistentCreate[] = [];
  const violations: string[] = [];
  const seconds: number[] = [];
  let isOver = false;
  let named = 0;
  const client = async () => {
    // A subnet's worth of servers.
    while (!isOver && named < 240) {
      named += 1;
      creates.push(
        await createPersistently(account, `drained-${named}`, {
          history,
          random: run.random,
          giveUp: giveUp.signal,
        }),
      );
      await delay(run.random() * 60);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  for (let round = 0; round < rounds; round += 1) {
    await delay(150 + run.random() * 300);
    const { api } = world;
    const toldAtMs = performance.now();
    api.signal("SIGTERM");
    const end = await Promise.race([api.ended, delay(ENDS_WITHIN_SECONDS * 1000, null, { ref: false })]);
    seconds.push((performance.now() - toldAtMs) / 1000);
    if (end === null) {
      violations.push(`the API still ran ${ENDS_WITHIN_SECONDS} s after SIGTERM`);
      await api.end("SIGKILL");
    } else if (end.code !== 0) violations.push(`the API ended with ${end.signal ?? end.code} after SIGTERM`);
    await world.startApi();
    run.progress(`${round + 1} of ${rounds} stops of the API`);
  }
  isOver = true;
  const timer = setTimeout(() => giveUp.abort(), 30_000);
  await clients;
  clearTimeout(timer);

  const rows = await lives.rows<{ name: string; id: string }>(
    "select name, id from server where organisation_id = $1",
    [data.id],
  );
  for (const { name, id } of rows)
    history.effect({ process: "postgres", operation: "dequeue", key: name, value: id });
  const queue = totalQueue(history.events);
  const told = new Map(creates.map(({ name, accepted }) => [name, accepted]));
  violations.push(
    ...creates.flatMap(({ wrong }) => wrong),
    ...creates.flatMap(doneWithoutAnswer),
    ...queue.lost.map((name) => `${name} was accepted and is not there`),
    ...queue.unexpected.map((name) => `${name} is there and nobody asked for it`),
    ...queue.duplicated.map((name) => `${name} is there more than once`),
    ...rows
      .filter(({ name, id }) => told.get(name) !== id)
      .map(({ name, id }) => `${name} is ${id}; its client was told ${told.get(name)}`),
  );
  const attempts = creates.flatMap((create) => create.attempts);
  return {
    cases: rounds,
    violations,
    seconds,
    creates: creates.length,
    cut: attempts.filter(({ status }) => status === null).length,
  };
}

/** An answer that is a replay proves that the attempt before was carried out, and not answered. */
function doneWithoutAnswer({ name, attempts }: PersistentCreate): string[] {
  return attempts.at(-1)?.isReplay && attempts.some(({ status }) => status === null)
    ? [`the create of ${name} took effect and was not answered when the API stopped`]
    : [];
}
