/** Makes the image of a recipe: a root file system for the lab, or a disk image for a hypervisor. */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { buildDiskImage } from "./build-disk-image.ts";
import { imageSettings, NoImage, rootFileSystem } from "./image-cache.ts";
import { cannotBuildDisks } from "./missing-tools.ts";
import { RecipeFault, readRecipe } from "./recipe.ts";
import { ImageBuildFailed } from "./run-tool.ts";

const USAGE = `usage: node packages/guest-images/src/main.ts <recipe>
         makes its root file system, unless it is there, and prints where it is
       node packages/guest-images/src/main.ts <recipe> --disk <file.qcow2>
         makes a disk image of the distribution's packages
       node packages/guest-images/src/main.ts <recipe> --disk <file.qcow2> --from <cloud-image.qcow2>
         customises a cloud image of the distribution
`;

async function make(name: string, disk: string | undefined, cloudImage: string | undefined): Promise<void> {
  const say = (step: string) => void process.stderr.write(`${name}: ${step}\n`);
  if (disk === undefined) {
    process.stdout.write(`${await rootFileSystem(name, say)}\n`);
    return;
  }
  const recipe = readRecipe(name);
  const reason = await cannotBuildDisks();
  if (reason !== undefined) throw new NoImage(`The disk image of ${name} cannot be made: ${reason}.`);
  if (cloudImage !== undefined && !existsSync(cloudImage))
    throw new NoImage(`There is no file ${cloudImage}.`);
  const { mirror } = imageSettings();
  await buildDiskImage(recipe, disk, say, {
    ...(mirror === undefined ? {} : { mirror }),
    ...(cloudImage === undefined ? {} : { cloudImage }),
  });
  process.stdout.write(`${disk}\n`);
}

function parse(
  args: string[],
): { name: string; disk: string | undefined; from: string | undefined } | undefined {
  try {
    const options = { disk: { type: "string" }, from: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const [name, ...more] = positionals;
    if (name === undefined || more.length > 0 || (values.from !== undefined && values.disk === undefined))
      return undefined;
    return { name, disk: values.disk, from: values.from };
  } catch {
    return undefined;
  }
}

const call = parse(process.argv.slice(2));
if (call === undefined) {
  process.stderr.write(USAGE);
  process.exit(2);
}
try {
  await make(call.name, call.disk, call.from);
} catch (error) {
  if (![ImageBuildFailed, NoImage, RecipeFault].some((kind) => error instanceof kind)) throw error;
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
