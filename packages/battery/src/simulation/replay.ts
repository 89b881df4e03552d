/**
 * One simulated seed with everything that happened in it:
 *
 *   node_modules/.bin/node packages/battery/src/simulation/replay.ts 4711
 *   node_modules/.bin/node packages/battery/src/simulation/replay.ts 4711 --count 200   that many seeds from it on, violations only
 *   node_modules/.bin/node packages/battery/src/simulation/replay.ts 4711 --sequence 151   a sequence that is played to the API and to the model
 */
import { parseArgs } from "node:util";
import { startDatabaseBroker } from "@kule/testing/database-broker";
import { replaySequence } from "./conformance.ts";
import { Simulation } from "./simulation.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: "string", default: "1" }, sequence: { type: "string" } },
});
const first = Number(positionals[0]);
const count = Number(values.count);
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count)) {
  console.error("replay.ts <seed> [--count n] [--sequence n]");
  process.exit(2);
}
if (values.sequence !== undefined) {
  const broker = await startDatabaseBroker(async () => (await import("@kule/database/migrate")).migrate);
  const differences = await replaySequence(first, Number(values.sequence));
  await broker.stop();
  console.log(differences.length === 0 ? "the model and the API are the same" : differences.join("\n"));
  process.exit(differences.length === 0 ? 0 : 1);
}
const trace = count === 1 ? console.log : null;
let failed = 0;
for (let seed = first; seed < first + count; seed++) {
  const result = await new Simulation(seed, trace).run();
  if (result.violations.length > 0) failed += 1;
  for (const text of result.violations) console.log(`seed ${seed}: ${text}`);
  if (count === 1) console.log(JSON.stringify(result, null, 1));
}
console.log(`${count} seeds, ${failed} with violations`);
process.exitCode = failed > 0 ? 1 : 0;
