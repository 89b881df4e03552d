import type { CertificateAuthority } from "@kule/api/products/certificates/index";
import { shuffled } from "../races/shuffled.ts";
import type { Scale } from "../row.ts";
import type { CertificateStage } from "./certificate-stage.ts";
import { issuedOnce, type KnownKeys, standingOf } from "./issued-once.ts";

/** Where a worker can be killed in a step: a boundary of a transaction, or a call to the CA. */
type WorkerPlace = { readonly state: string; readonly point: string };

const sampledPlaces = 4;

class Killed extends Error {}

/** The CA as a worker calls it that is watched. */
function watched(
  ca: CertificateAuthority,
  at: (point: string) => void | Promise<void>,
): CertificateAuthority {
  let calls = 0;
  const around = async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    calls += 1;
    const call = calls;
    await at(`before call ${call} to the CA`);
    const answer = await send();
    await at(`after call ${call} to the CA`);
    return answer;
  };
  const { client } = ca;
  return {
    ...ca,
    client: {
      ...client,
      post: (signer, call) => around(() => client.post(signer, call)),
      get: (url, signal) => around(() => client.get(url, signal)),
    },
  };
}

/** A step with a look at every place that it passes, each time that it passes it. */
function watchedStep(stage: CertificateStage, at: (point: string) => void | Promise<void>): Promise<string> {
  const times = new Map<string, number>();
  const crash = (point: string) => {
    const time = (times.get(point) ?? 0) + 1;
    times.set(point, time);
    return at(`${point.split(".").at(-1)} ${time}`);
  };
  return stage.world.step(stage.id, watched(stage.world.ca, at), crash);
}

/** Has the certificate issued anew by a worker that nothing happens to, and answers the places that it has passed. */
export async function placesOf(
  stage: CertificateStage,
  keys: KnownKeys,
): Promise<{ readonly places: readonly WorkerPlace[]; readonly found: readonly string[] }> {
  const before = await standingOf(stage);
  const places = new Map<string, WorkerPlace>();
  await begun(stage);
  for (let state = "ready"; state !== "none"; ) {
    const next = await watchedStep(stage, (point) => {
      places.set(`${state} ${point}`, { state, point });
    });
    if (next === state) await stage.untilServed();
    state = next;
  }
  return { places: [...places.values()], found: await issuedOnce(stage, before, keys) };
}

/** Those of a run. A sample has one of each state at random. */
export function chosenPlaces(
  all: readonly WorkerPlace[],
  scale: Scale,
  random: () => number,
): readonly WorkerPlace[] {
  if (scale === "full") return all;
  const states = [...Map.groupBy(all, ({ state }) => state).values()];
  return states.flatMap((group) => shuffled(group, random).slice(0, 1)).slice(0, sampledPlaces);
}

/** A worker dies at the place; another one finishes. */
export async function killedWorker(
  stage: CertificateStage,
  keys: KnownKeys,
  { state, point }: WorkerPlace,
): Promise<string[]> {
  const before = await standingOf(stage);
  await begun(stage);
  const found: string[] = [];
  let hasDied = false;
  while (!hasDied) {
    const order = await stage.order();
    if (order === null) break;
    if (order.waitSeconds > 0) await stage.untilServed();
    await watchedStep(stage, (reached) => {
      if (order.state !== state || reached !== point || hasDied) return;
      hasDied = true;
      throw new Killed(point);
    }).catch((error: unknown) => {
      // In the middle of a transaction the hook's error arrives as one of the database's.
      const cause = error instanceof Error ? error.cause : undefined;
      if (!(error instanceof Killed) && !(cause instanceof Killed)) throw error;
    });
  }
  if (!hasDied) found.push("no worker has come there");
  // Who has died there has the step for a while yet.
  if (point.includes("call") && (await stage.stepIfDue()))
    found.push("another worker takes a step that somebody has");
  const driven = await stage.drive();
  found.push(...driven.found);
  if (driven.failures.length > 0) found.push(`an attempt has failed with ${driven.failures[0]?.code}`);
  // Where the CA was asked for an order that nobody has noted.
  const orders = state === "ready" ? 2 : 1;
  if (found.length === 0) found.push(...(await issuedOnce(stage, before, keys, { orders })));
  return found.map((text) => `a worker killed in ${state} ${point}: ${text}`);
}

/** A worker hangs after a call, loses its step to another one, and goes on. */
export async function stalledWorker(stage: CertificateStage, keys: KnownKeys): Promise<string[]> {
  const before = await standingOf(stage);
  await begun(stage);
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const hang = async (point: string) => {
    if (point !== "after call 1 to the CA") return;
    reached.resolve();
    await goOn.promise;
  };
  const stalled = stage.world.step(stage.id, watched(stage.world.ca, hang));
  await Promise.race([reached.promise, stalled]);
  await stage.world.step(stage.id);
  const rows = () =>
    stage.world.served.rows(
      `select to_jsonb(o)::text as row from certificate_order o where certificate_id = $1
       union all select to_jsonb(d)::text from domain_challenge d where certificate_id = $1`,
      [stage.id],
    );
  const kept = JSON.stringify(await rows());
  goOn.resolve();
  await stalled;
  const found: string[] = [];
  if (JSON.stringify(await rows()) !== kept) found.push("the order is changed by who had lost its step");
  const driven = await stage.drive();
  found.push(...driven.found);
  if (found.length === 0) found.push(...(await issuedOnce(stage, before, keys, { orders: 2 })));
  return found.map((text) => `a worker that hung: ${text}`);
}

async function begun(stage: CertificateStage): Promise<void> {
  await stage.renew();
  await stage.world.makeKey();
}
