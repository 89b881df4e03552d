import type { Mutant } from "./row.ts";

/**
 * Mutants that take one line out of one file each, all of a folder.
 *
 * @param folder from the repository's root
 */
export function mutantsIn(folder: string) {
  return (
    name: string,
    removes: string,
    file: string,
    find: string,
    replace: string,
    expects: RegExp,
  ): Mutant => ({ name, removes, patches: [{ file: `${folder}/${file}`, find, replace }], expects });
}
