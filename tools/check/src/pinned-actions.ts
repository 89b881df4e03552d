import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Actions of CI that are not named by the hash of a commit: a tag can be moved to other code. */
export function findUnpinnedActions(root: string): string[] {
  return globSync(".github/workflows/*.{yml,yaml}", { cwd: root })
    .sort()
    .flatMap((file) =>
      readFileSync(join(root, file), "utf8")
        .split("\n")
        .flatMap((line, index) => {
          const action = /^\s*(?:- )?uses:\s*([^\s#]+)/.exec(line)?.[1];
          if (action === undefined || /^\.\/|@[0-9a-f]{40}$/.test(action)) return [];
          return [
            `${file}:${index + 1}: ${action} is named by a tag or a branch, which can be moved; name a commit: uses: ${action.replace(/@.*$/, "")}@<40 hexadecimal digits> # <version>`,
          ];
        }),
    );
}
