import { resolve } from "node:path";
import { makeServerRelease } from "./make-server-release.ts";

const [directory, ...more] = process.argv.slice(2);
if (directory === undefined || directory.startsWith("-") || more.length > 0) {
  console.error("usage: npm run server-release -- FOLDER (a new one, such as dist/kule-server)");
  process.exitCode = 2;
} else {
  try {
    await makeServerRelease(resolve(directory));
    console.log(resolve(directory));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
