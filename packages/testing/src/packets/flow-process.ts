// Keeps many flows active from its namespace: connections and datagrams, each of which sends something, waits
// for the echo, and sends the next. Controlled by lines on its standard input.

import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import type { FlowAnswer, FlowOrder, FlowsSeen } from "./flows.ts";

type Flow = { readonly name: string; readonly speak: () => Promise<boolean>; hasEnded: boolean };
/** So few wait at a time that no queue on the way is too short for them. */
const openedAtOnce = 50;

const flows: Flow[] = [];
let isSpeaking = false;
let speakers: Promise<void>[] = [];
let seen: FlowsSeen = { spoken: 0, lost: {} };

/** Whether something is answered in time; `answered` is called by the receiver. */
function exchange(send: () => void, waitMs: number, hear: (answered: (isGood: boolean) => void) => void) {
  return new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), waitMs);
    hear((isGood) => {
      clearTimeout(timer);
      resolve(isGood);
    });
    send();
  });
}

function openConnection(name: string, to: string, port: number, waitMs: number): Promise<Flow> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: to, port, noDelay: true });
    let answered = (_: boolean): void => {};
    const speak = () =>
      exchange(
        () => void socket.write("?"),
        waitMs,
        (hear) => {
          answered = hear;
        },
      );
    const flow: Flow = { name, speak, hasEnded: false };
    const end = () => {
      flow.hasEnded = true;
      answered(false);
      reject(new Error(`${name} does not open`));
    };
    const timer = setTimeout(end, waitMs);
    socket.on("error", end).on("close", end);
    socket.once("data", () => {
      clearTimeout(timer);
      socket.on("data", () => answered(true));
      resolve(flow);
    });
  });
}

async function openDatagrams(name: string, to: string, port: number, waitMs: number): Promise<Flow> {
  const socket: DatagramSocket = createSocket("udp4");
  let answered = (_: boolean): void => {};
  socket.on("message", () => answered(true)).on("error", () => {});
  await new Promise<void>((resolve) => socket.bind(0, "0.0.0.0", resolve));
  const speak = () =>
    exchange(
      () => socket.send("?", port, to),
      waitMs,
      (hear) => {
        answered = hear;
      },
    );
  if (!(await speak())) throw new Error(`${name} does not open`);
  return { name, speak, hasEnded: false };
}

async function keepSpeaking(flow: Flow, everyMs: number, afterMs: number): Promise<void> {
  await pause(afterMs);
  while (isSpeaking && !flow.hasEnded) {
    const isAnswered = await flow.speak();
    seen.spoken += 1;
    if (!isAnswered) {
      const what = `${flow.name} ${flow.hasEnded ? "was reset" : "lost something"}`;
      seen.lost[what] = (seen.lost[what] ?? 0) + 1;
    }
    await pause(everyMs);
  }
}

async function carryOut(order: FlowOrder): Promise<FlowsSeen | null> {
  switch (order.do) {
    case "open": {
      const { name, protocol, to, port, count, waitMs } = order;
      const open = protocol === "tcp" ? openConnection : openDatagrams;
      for (let first = 0; first < count; first += openedAtOnce)
        flows.push(
          ...(await Promise.all(
            Array.from({ length: Math.min(openedAtOnce, count - first) }, () => open(name, to, port, waitMs)),
          )),
        );
      return null;
    }
    case "speak": {
      isSpeaking = true;
      seen = { spoken: 0, lost: {} };
      const { everyMs } = order;
      speakers = flows.map((flow, index) => keepSpeaking(flow, everyMs, (index / flows.length) * everyMs));
      return null;
    }
    case "be-silent":
      isSpeaking = false;
      await Promise.all(speakers);
      return seen;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as FlowOrder;
  const answer: FlowAnswer = await carryOut(order).then(
    (outcome) => ({ seen: outcome }),
    (error: unknown) => ({ error: String(error) }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
