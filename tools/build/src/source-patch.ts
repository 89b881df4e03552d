import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/** A text of a source file that is replaced before the file is compiled, to see whether a test notices. */
export type SourcePatch = {
  /** From the root of the tree. */
  readonly file: string;
  /** Found exactly once in the file. */
  readonly find: string;
  readonly replace: string;
};

/** Names the JSON file of the patches that what is compiled and run from here on has. */
export const patchesVariable = "KULE_SOURCE_PATCHES";

export function activePatches(): SourcePatch[] {
  const file = process.env[patchesVariable];
  return file === undefined ? [] : (JSON.parse(readFileSync(file, "utf8")) as SourcePatch[]);
}

/**
 * The source with its patches, noted as applied; the source itself when it has none.
 *
 * @throws Error when a text is not there exactly once
 */
export function patchSource(
  root: string,
  path: string,
  source: string,
  patches: readonly SourcePatch[],
): string {
  const file = relative(root, path);
  let patched = source;
  for (const patch of patches) {
    if (patch.file !== file) continue;
    patched = applyPatch(patched, patch);
    const note = process.env[patchesVariable];
    if (note !== undefined) appendFileSync(`${note}.applied`, `${JSON.stringify(patch)}\n`);
  }
  return patched;
}

/** @throws Error when the text is not there exactly once */
export function applyPatch(source: string, { file, find, replace }: SourcePatch): string {
  const parts = source.split(find);
  if (parts.length !== 2)
    throw new Error(`${file}: the text to replace is there ${parts.length - 1} times, not once:\n${find}`);
  return parts.join(replace);
}

/** The active patches that nothing was compiled with. */
export function unappliedPatches(): SourcePatch[] {
  const note = process.env[patchesVariable];
  if (note === undefined) return [];
  let applied: string[] = [];
  try {
    applied = readFileSync(`${note}.applied`, "utf8").split("\n");
  } catch {
    // Nothing was.
  }
  return activePatches().filter((patch) => !applied.includes(JSON.stringify(patch)));
}
