import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { buildRootFileSystem } from "./build-root-file-system.ts";
import { lockImage } from "./image-lock.ts";
import { cannotBuild } from "./missing-tools.ts";
import { type Recipe, readRecipe } from "./recipe.ts";

/** Of one recipe: a lab that runs may use the one before. */
const KEPT = 2;

/** Images cannot be made on this machine; the message says what to do. */
export class NoImage extends Error {
  override name = "NoImage";
}

export type ImageSettings = {
  /** Where images are kept. */
  readonly folder: string;
  /** Another mirror than the recipe's. */
  readonly mirror?: string;
};

export function imageSettings(env: NodeJS.ProcessEnv = process.env): ImageSettings {
  const folder =
    env.KULE_IMAGES_DIR || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "kule", "images");
  return { folder, ...(env.KULE_IMAGES_MIRROR ? { mirror: env.KULE_IMAGES_MIRROR } : {}) };
}

const placeOf = ({ name, hash }: Recipe, { folder }: ImageSettings): string =>
  join(folder, `${name}-${hash}`);

/** The root file system of a recipe as it is now; undefined when it has not been made. */
export function builtRoot(name: string, settings = imageSettings()): string | undefined {
  const root = join(placeOf(readRecipe(name), settings), "root");
  return existsSync(root) ? root : undefined;
}

/** Why this machine has no image of the recipe and cannot make one; undefined when it has or can. */
export async function probeImage(name: string): Promise<string | undefined> {
  return builtRoot(name) === undefined ? await cannotBuild() : undefined;
}

/**
 * The folder with the root file system of a recipe, which is made when it is not there. It takes a minute or two.
 *
 * @param say is called with each step of making it
 * @throws NoImage, ImageBuildFailed, RecipeFault
 */
export async function rootFileSystem(
  name: string,
  say: (step: string) => void,
  settings = imageSettings(),
): Promise<string> {
  const recipe = readRecipe(name);
  const place = placeOf(recipe, settings);
  const root = join(place, "root");
  if (existsSync(root)) return root;
  const reason = await cannotBuild();
  if (reason !== undefined) throw new NoImage(`The image ${name} cannot be made: ${reason}.`);
  mkdirSync(settings.folder, { recursive: true });
  const unlock = await lockImage(join(settings.folder, `.${name}.lock`), () =>
    say("another process makes it; waiting for that"),
  );
  try {
    if (existsSync(root)) return root;
    // Of a build that was killed: nobody else makes this image now.
    for (const each of entriesOf(settings.folder, `.${name}-`))
      if (each.endsWith(".tmp")) rmSync(join(settings.folder, each), { recursive: true, force: true });
    const temporary = join(settings.folder, `.${name}-${recipe.hash}.tmp`);
    mkdirSync(temporary, { mode: 0o755 });
    try {
      await buildRootFileSystem(recipe, temporary, say, settings.mirror);
      renameSync(temporary, place);
    } catch (error) {
      rmSync(temporary, { recursive: true, force: true });
      throw error;
    }
    removeOld(name, settings.folder, place);
    return root;
  } finally {
    await unlock();
  }
}

const entriesOf = (folder: string, prefix: string): string[] =>
  readdirSync(folder).filter((entry) => entry.startsWith(prefix));

function removeOld(name: string, folder: string, newest: string): void {
  const earlier = entriesOf(folder, `${name}-`)
    .filter((entry) => /^[0-9a-f]{12}$/.test(entry.slice(name.length + 1)))
    .map((entry) => join(folder, entry))
    .filter((place) => place !== newest)
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const place of earlier.slice(KEPT - 1)) rmSync(place, { recursive: true, force: true });
}
