import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

const RECIPES = resolve(import.meta.dirname, "../../../infra/images");
/** Part of every hash: a new number when the same recipe gives another root file system. */
const FORMAT = 1;

/** How a guest system is made. A recipe with a base has the base's packages and scripts first. */
export type Recipe = {
  readonly name: string;
  readonly suite: string;
  /** Lines of sources.list. */
  readonly mirrors: readonly string[];
  readonly packages: readonly string[];
  /** What else a disk needs to boot: kernel, boot loader, initramfs. None: it becomes no disk image. */
  readonly diskPackages: readonly string[];
  /** Copied into the system before the scripts run. */
  readonly files: readonly RecipeCopy[];
  /** Files of shell scripts, in their order. */
  readonly scripts: readonly string[];
  /** Changes with every byte that the result depends on. */
  readonly hash: string;
};

/** A file of the tree, and where it is in the system. */
export type RecipeCopy = { readonly from: string; readonly to: string; readonly mode: string };

/** There is no such recipe, or its files are wrong; the message names the file. */
export class RecipeFault extends Error {
  override name = "RecipeFault";
}

type RecipeFile = {
  readonly suite?: string;
  readonly mirrors?: readonly string[];
  readonly base?: string;
  readonly disk_packages?: readonly string[];
  readonly files?: readonly RecipeCopy[];
};

/**
 * Reads the folder of a recipe.
 *
 * @throws RecipeFault
 */
export function readRecipe(name: string, folder = RECIPES): Recipe {
  const hash = createHash("sha256").update(`format ${FORMAT}\n`);
  const files: RecipeFile[] = [];
  const packages: string[] = [];
  const copies: RecipeCopy[] = [];
  const scripts: string[] = [];
  for (const each of withBases(name, folder)) {
    const place = join(folder, each);
    const read = (file: string): string => {
      const text = existsSync(join(place, file)) ? readFileSync(join(place, file), "utf8") : "";
      hash.update(`${each}/${file} ${Buffer.byteLength(text)}\n${text}`);
      return text;
    };
    const file = JSON.parse(read("recipe.json")) as RecipeFile;
    files.push(file);
    for (const { from, to, mode } of file.files ?? []) {
      const path = relative(place, resolve(place, from));
      if (read(path) === "")
        throw new RecipeFault(`${join(place, "recipe.json")}: the file ${join(place, path)} does not exist`);
      if (!/^(\/[A-Za-z0-9._-]+)+$/.test(to) || !/^0[0-7]{3}$/.test(mode))
        throw new RecipeFault(
          `${join(place, "recipe.json")}: "to" is an absolute path and "mode" four octal digits, such as "0755"`,
        );
      copies.push({ from: join(place, path), to, mode });
    }
    packages.push(...packagesIn(read("packages.txt")));
    if (read("customize.sh") !== "") scripts.push(join(place, "customize.sh"));
  }
  const suite = files.findLast((file) => file.suite !== undefined)?.suite;
  const mirrors = files.findLast((file) => file.mirrors !== undefined)?.mirrors;
  if (suite === undefined || mirrors === undefined)
    throw new RecipeFault(
      `${join(folder, name, "recipe.json")} has no suite or no mirrors, and no base that has`,
    );
  return {
    name,
    suite,
    mirrors,
    packages: [...new Set(packages)],
    diskPackages: files.findLast((file) => file.disk_packages !== undefined)?.disk_packages ?? [],
    files: copies,
    scripts,
    hash: hash.digest("hex").slice(0, 12),
  };
}

/** The recipe and what it is based on, the base first. */
function withBases(name: string, folder: string): string[] {
  const names: string[] = [];
  for (let next: string | undefined = name; next !== undefined; ) {
    const file = join(folder, next, "recipe.json");
    if (!/^[a-z0-9.-]+$/.test(next) || !existsSync(file))
      throw new RecipeFault(`there is no recipe ${JSON.stringify(next)}: ${file} does not exist`);
    if (names.includes(next)) throw new RecipeFault(`${file}: the recipe is its own base`);
    names.unshift(next);
    next = baseIn(file);
  }
  return names;
}

function baseIn(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as RecipeFile).base;
  } catch (error) {
    throw new RecipeFault(`${file}: ${error instanceof Error ? error.message : error}`);
  }
}

function packagesIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "");
}
