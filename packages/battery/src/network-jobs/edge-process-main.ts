// The process of EdgeProcess: ends when its parent does, or disconnects.

import { LocalRunner } from "@kule/edge/local-runner";
import type { Command } from "@kule/edge/runner";
import { startEdgeMachine } from "@kule/lab/wires/edge-machine";
import type { EdgeAnswer, EdgeOrder } from "./edge-process.ts";

const { atBridges, directory } = JSON.parse(process.argv[2] ?? "") as {
  readonly atBridges: readonly string[];
  readonly directory: string;
};
const runner = new LocalRunner();
const running = new Map<number, AbortController>();

process.on("message", (order: EdgeOrder) => {
  if ("abort" in order) running.get(order.id)?.abort();
  else void carryOut(order.id, order.command);
});
process.once("disconnect", () => process.exit());

const { stop: _, ...machine } = await startEdgeMachine({ atBridges: () => atBridges }, directory);
answer({ machine });

async function carryOut(id: number, { words, ...more }: Command): Promise<void> {
  const abort = new AbortController();
  running.set(id, abort);
  const [program = "nsenter", ...rest] = [...atBridges, ...words];
  await runner.run({ words: [program, ...rest], ...more }, abort.signal).then(
    (result) => answer({ id, result }),
    (error: Error) => answer({ id, unreachable: error.message }),
  );
  running.delete(id);
}

function answer(text: EdgeAnswer): void {
  if (process.connected) process.send?.(text);
}
