import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeServerRelease } from "./make-server-release.ts";

const usage = `usage: npm run server-release -- FOLDER [--before RELEASE]
  FOLDER             a new one, such as dist/kule-server
  --before RELEASE   the folder of the release before, whose pages are still open in browsers while it is replaced
`;

try {
  const { values, positionals } = parseArgs({
    options: { before: { type: "string" } },
    allowPositionals: true,
  });
  const [directory, ...more] = positionals;
  if (directory === undefined || more.length > 0) throw new Error(usage.trim());
  await makeServerRelease(
    resolve(directory),
    values.before === undefined ? undefined : resolve(values.before),
  );
  console.log(resolve(directory));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
