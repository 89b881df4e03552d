import { setTimeout as pause } from "node:timers/promises";
import type { Flows } from "@kule/testing/packets/flows";
import type { Outcome } from "@kule/testing/packets/machine-orders";
import type { PacketMachine } from "@kule/testing/packets/packet-machine";

/** A packet that begins a flow, sent again and again while something is changed. */
export type Opener = {
  readonly name: string;
  readonly by: PacketMachine;
  readonly protocol: "tcp" | "udp";
  readonly to: string;
  readonly port?: number;
};

/** Which sender must never be received where. */
export type Forbidden = {
  readonly name: string;
  readonly at: PacketMachine;
  readonly from: (source: string) => boolean;
};

export type Traffic = {
  readonly flows: readonly Flows[];
  /** Each flow sends again this long after an answer. */
  readonly everyMs: number;
  /** The flows that every state allows. */
  readonly allowed: readonly Opener[];
  /** The flows that no state allows. */
  readonly denied: readonly Opener[];
  readonly forbidden: readonly Forbidden[];
};

export type Tally = {
  changes: number;
  spoken: number;
  opened: number;
  denied: number;
  leaked: number;
  lost: number;
  readonly violations: string[];
};

export const newTally = (): Tally => ({
  ...{ changes: 0, spoken: 0, opened: 0, denied: 0, leaked: 0, lost: 0 },
  violations: [],
});

/** Fewer than this during a change prove nothing about it. */
const leastTries = 4;

/**
 * Changes something while all of them send, and reports which allowed packets were lost and which forbidden
 * ones arrived.
 */
export async function changeUnder(
  traffic: Traffic,
  what: string,
  change: () => Promise<unknown>,
  tally: Tally,
): Promise<void> {
  const { flows, everyMs, allowed, denied, forbidden } = traffic;
  for (const { at } of forbidden) await at.arrivals();
  for (const each of flows) await each.speak(everyMs);
  let isOver = false;
  const until = async (each: () => Promise<void>) => {
    do await each();
    while (!isOver);
  };
  const tried = new Map<string, number>();
  const unanswered = new Map<string, number>();
  const answered = new Map<string, number>();
  const count = (names: Map<string, number>, name: string) => names.set(name, (names.get(name) ?? 0) + 1);
  const openers = [
    ...allowed.map((opener) =>
      until(async () => {
        tally.opened += 1;
        count(tried, opener.name);
        if (!isAnswer(await send(opener, 4_000))) count(unanswered, opener.name);
      }),
    ),
    ...denied.map((opener) =>
      until(async () => {
        tally.denied += 1;
        count(tried, opener.name);
        const outcome = await send(opener, opener.protocol === "tcp" ? 30 : 5);
        if (isAnswer(outcome)) count(answered, opener.name);
      }),
    ),
  ];
  // Each flow has its turn before it is over, however quick the change was.
  const turns = pause(everyMs * 2);
  await change().catch((error: unknown) => tally.violations.push(`${what}: cannot be done: ${error}`));
  await turns;
  isOver = true;
  await Promise.all(openers);
  const seen = await Promise.all(flows.map((each) => each.beSilent()));
  tally.changes += 1;
  const complain = (text: string) => tally.violations.push(`${what}: ${text}`);
  for (const { name } of [...allowed, ...denied]) {
    const times = tried.get(name) ?? 0;
    if (times < leastTries) complain(`${name} was tried only ${times} times: nothing was put to the test`);
  }
  for (const [index, { spoken, lost }] of seen.entries()) {
    const established = flows[index]?.count ?? 0;
    tally.spoken += spoken;
    if (established === 0 || spoken < established)
      complain(`${established} established flows spoke only ${spoken} times: nothing was put to the test`);
    for (const [name, times] of Object.entries(lost)) {
      tally.lost += times;
      complain(`established ${name} ${times} times, although both states allow it`);
    }
  }
  for (const [name, times] of unanswered) {
    tally.lost += times;
    complain(`${name} got no answer ${times} times, although both states allow it`);
  }
  for (const [name, times] of answered) {
    tally.leaked += times;
    complain(`${name} came through ${times} times, although neither state allows it`);
  }
  for (const { name, at, from } of forbidden) {
    const times = (await at.arrivals()).filter(from).length;
    tally.leaked += times;
    if (times > 0) complain(`${name} came ${times} times, although neither state allows it`);
  }
}

/**
 * Flows that only the changed rules block must be received once those are gone; otherwise it is not proven
 * that they send at all.
 */
export async function silentOpeners(openers: readonly Opener[]): Promise<string[]> {
  const silent: string[] = [];
  for (const opener of openers)
    if (!isAnswer(await send(opener, 4_000)))
      silent.push(`${opener.name} got no answer where nothing keeps it out: it would never be seen to leak`);
  return silent;
}

const send = ({ by, protocol, to, port }: Opener, waitMs: number) =>
  by.send(protocol, to, { waitMs, ...(port === undefined ? {} : { port }) });

/** A refusal is one as well: the packet was there. */
const isAnswer = (outcome: Outcome) => outcome !== "silent";
