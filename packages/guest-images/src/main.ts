/** Makes the image of a recipe when it is not there, and prints where its root file system is. */
import { ImageBuildFailed } from "./build-root-file-system.ts";
import { NoImage, rootFileSystem } from "./image-cache.ts";
import { RecipeFault } from "./recipe.ts";

const [name] = process.argv.slice(2);
if (name === undefined) {
  process.stderr.write("usage: node packages/guest-images/src/main.ts <recipe>\n");
  process.exit(2);
}
try {
  const root = await rootFileSystem(name, (step) => process.stderr.write(`${name}: ${step}\n`));
  process.stdout.write(`${root}\n`);
} catch (error) {
  if (![ImageBuildFailed, NoImage, RecipeFault].some((kind) => error instanceof kind)) throw error;
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
