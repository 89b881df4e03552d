import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { answerText, tally } from "../races/answer-text.ts";
import type { KeyWorld } from "./key-world.ts";

/** An operation that can be called with a key, as often as one likes. */
export type KeyedOperation = {
  readonly name: string;
  readonly status: number;
  /** Creates what must exist first; returns the path. */
  readonly prepare: (world: KeyWorld, caller: ApiCaller) => Promise<string>;
  /** A body of its own with every call. */
  readonly body: (world: KeyWorld) => object;
  /** The id of the created resource, from the answer. */
  readonly idOf: (body: Answer["body"]) => string;
};

const plain = (path: string) => async () => path;

export const keyedOperations: readonly KeyedOperation[] = [
  // First: it creates the network for servers that name none.
  {
    name: "createServer",
    status: 202,
    prepare: plain("/servers"),
    body: (world) => ({ name: world.next("web"), region: world.region, image: "debian-13", package: "s" }),
    idOf: (body) => body.server.id,
  },
  {
    name: "createSshKey",
    status: 201,
    prepare: plain("/ssh-keys"),
    body: (world) => ({ name: world.next("key"), public_key: ed25519Line() }),
    idOf: (body) => body.id,
  },
  {
    name: "createNetwork",
    status: 201,
    prepare: plain("/networks"),
    body: (world) => ({ name: world.next("net"), region: world.region }),
    idOf: (body) => body.network.id,
  },
  {
    name: "createToken",
    status: 201,
    prepare: plain("/tokens"),
    body: (world) => ({ name: world.next("token"), reason: "of the battery" }),
    idOf: (body) => body.token.id,
  },
];

const keyed = (key: string) => ({ "Idempotency-Key": key });
const isReplay = ({ headers }: Answer) => headers.get("Idempotency-Replayed") === "true";

/** One key and what can go wrong with it, one after the other. */
export async function checkKey(world: KeyWorld, operation: KeyedOperation): Promise<string[]> {
  const violations: string[] = [];
  const { caller } = world.mine;
  const path = await operation.prepare(world, caller);
  const key = world.next("misuse");
  const body = operation.body(world);
  const expect = (holds: boolean, what: string, answer: Answer) => {
    if (!holds) violations.push(`${operation.name}: ${what}: ${answerText(answer)}`);
  };
  const made = (answer: Answer) => answer.status === operation.status && !isReplay(answer);

  const first = await caller.post(path, body, keyed(key));
  expect(made(first), "the first request under a key is not done", first);
  if (!made(first)) return violations;
  const id = operation.idOf(first.body);

  for (const [where, at] of [
    ["the same replica", caller],
    ["another replica", caller.at(world.second.app)],
  ] as const) {
    const again = await at.post(path, body, keyed(key));
    const same = again.status === operation.status && isReplay(again) && operation.idOf(again.body) === id;
    expect(same, `the same request at ${where} is not answered the same`, again);
  }

  const other = await caller.post(path, operation.body(world), keyed(key));
  expect(
    answerText(other).startsWith("422") && other.body.code === "idempotency_key_reused",
    "the key with another body is not refused",
    other,
  );

  const foreign = await world.others.caller.post(path, body, keyed(key));
  expect(made(foreign), "the same key and body in another organisation is not a request of its own", foreign);
  const leaks =
    JSON.stringify(foreign.body).includes(id) || JSON.stringify(foreign.body).includes(world.mine.id);
  expect(!leaks, "the answer to another organisation holds what is the first one's", foreign);
  const own = await caller.post(path, body, keyed(key));
  expect(
    isReplay(own) && operation.idOf(own.body) === id,
    "another organisation's use of the key has changed it",
    own,
  );

  await world.ageKey(key);
  const later = await caller.post(path, operation.body(world), keyed(key));
  expect(made(later), "after a day the key is not free for another request", later);
  return violations;
}

/** Many concurrent requests with one key, half at each replica, and the same key in another organisation. */
export async function raceForKey(
  world: KeyWorld,
  operation: KeyedOperation,
  count: number,
): Promise<string[]> {
  const path = await operation.prepare(world, world.mine.caller);
  const key = world.next("race");
  const body = operation.body(world);
  const ask = async ({ caller }: KeyWorld["mine"], index: number) => {
    const at = index % 2 === 0 ? caller : caller.at(world.second.app);
    for (let tries = 1; ; tries += 1) {
      const answer = await at.post(path, body, keyed(key));
      // What the contract says to a client that waited too long for the first one: retry with the same key.
      const isEarly = answer.status === 503 || answer.body?.code === "idempotency_in_progress";
      if (!isEarly || tries === 5) return answer;
    }
  };
  const [mine, others] = await Promise.all([
    Promise.all(Array.from({ length: count }, (_, index) => ask(world.mine, index))),
    Promise.all([0, 1].map((index) => ask(world.others, index))),
  ]);
  return [
    ...judgeRace(operation, `${operation.name}: ${count} at once with one key`, mine),
    ...judgeRace(operation, `${operation.name}: the same key at once in another organisation`, others),
    ...(mine.some((answer) => others.some((other) => sameThing(operation, answer, other)))
      ? [`${operation.name}: the answer to another organisation was given to the first one`]
      : []),
  ];
}

function judgeRace(operation: KeyedOperation, what: string, answers: readonly Answer[]): string[] {
  const odd = answers.filter(({ status }) => status !== operation.status);
  if (odd.length > 0) return [`${what}: ${tally(answers)}`];
  const ids = new Set(answers.map(({ body }) => operation.idOf(body)));
  const winners = answers.filter((answer) => !isReplay(answer)).length;
  const replays = new Set(answers.filter(isReplay).map(({ body }) => JSON.stringify(body)));
  return [
    ...(ids.size === 1 ? [] : [`${what}: ${ids.size} were made`]),
    ...(winners === 1 ? [] : [`${what}: ${winners} were done and not replayed`]),
    ...(replays.size <= 1 ? [] : [`${what}: ${replays.size} different replays`]),
  ];
}

const sameThing = (operation: KeyedOperation, one: Answer, other: Answer): boolean =>
  one.status === operation.status &&
  other.status === operation.status &&
  operation.idOf(one.body) === operation.idOf(other.body);
