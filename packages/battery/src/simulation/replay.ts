/**
 * One simulated seed with everything that happened in it:
 *
 *   node_modules/.bin/node packages/battery/src/simulation/replay.ts 4711
 *   node_modules/.bin/node packages/battery/src/simulation/replay.ts 4711 --count 200   that many seeds from it on, violations only
 */
import { parseArgs } from "node:util";
import { Simulation } from "./simulation.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: "string", default: "1" } },
});
const first = Number(positionals[0]);
const count = Number(values.count);
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count)) {
  console.error("replay.ts <seed> [--count n]");
  process.exit(2);
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
