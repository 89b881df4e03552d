// One run of one row, in a process of its own: `main.ts` starts it and reads its answer from the channel.

import { unappliedPatches } from "@kule/build/source-patch";
import { seededGenerator } from "@kule/lab/runtime";
import { brokerVariable, startDatabaseBroker } from "@kule/testing/database-broker";
import { loadRow } from "./load-rows.ts";
import type { RowResult, Scale } from "./row.ts";

export type RowOrder = {
  readonly row: string;
  readonly seed: number;
  readonly scale: Scale;
  readonly mutant: string | null;
};

export type RowAnswer =
  | { readonly result: RowResult; readonly seconds: number }
  | { readonly error: string }
  | { readonly progress: string };

const order = JSON.parse(process.argv[2] ?? "") as RowOrder;
const send = (answer: RowAnswer) =>
  new Promise<void>((sent) => {
    if (process.send === undefined) {
      console.log(JSON.stringify(answer));
      sent();
    } else process.send(answer, () => sent());
  });

const broker =
  process.env[brokerVariable] === undefined
    ? await startDatabaseBroker(async () => (await import("@kule/database/migrate")).migrate)
    : null;
try {
  const startedAt = performance.now();
  const row = await loadRow(order.row);
  const result = await row.run({
    ...order,
    random: seededGenerator(order.seed),
    progress: (text) => void send({ progress: text }),
  });
  const unapplied = unappliedPatches();
  if (unapplied.length > 0)
    throw new Error(
      `the mutant was not in what ran: nothing loads ${unapplied.map(({ file }) => file).join(", ")}`,
    );
  await send({ result, seconds: (performance.now() - startedAt) / 1000 });
} catch (error) {
  await send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exitCode = 1;
} finally {
  await broker?.stop();
}
// Handles that a row left open must not keep its process running; children end with it.
process.exit();
