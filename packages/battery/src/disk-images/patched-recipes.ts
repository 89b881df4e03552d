import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { activePatches, patchSource } from "@kule/build/source-patch";

const root = resolve(import.meta.dirname, "../../../..");
const recipes = join(root, "infra/images");

/** Copies the recipes of the tree into a folder, with the patches of the mutant that runs. */
export function copyRecipes(folder: string): void {
  cpSync(recipes, folder, { recursive: true });
  const patches = activePatches();
  for (const entry of readdirSync(recipes, { recursive: true, encoding: "utf8" })) {
    const path = join(recipes, entry);
    if (!statSync(path).isFile()) continue;
    writeFileSync(join(folder, entry), patchSource(root, path, readFileSync(path, "utf8"), patches));
  }
}
