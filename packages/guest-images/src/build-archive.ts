import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Recipe } from "./recipe.ts";
import { runTool } from "./run-tool.ts";

/**
 * Makes the recipe's system, with `more` packages, into a tar file.
 *
 * @throws ImageBuildFailed
 */
export async function buildArchive(
  recipe: Recipe,
  more: readonly string[],
  folder: string,
  archive: string,
  say: (step: string) => void,
  mirror?: string,
): Promise<void> {
  const temporary = join(folder, "tmp");
  mkdirSync(temporary, { recursive: true, mode: 0o755 });
  // Another mirror has the components of the first one, and is verified with the same key.
  const sources =
    mirror === undefined
      ? recipe.mirrors
      : recipe.mirrors.slice(0, 1).map((line) => line.replace(/https?:\S+/, mirror));
  const words = [
    "--mode=root",
    "--variant=minbase",
    "--format=tar",
    `--include=${[...recipe.packages, ...more].join(",")}`,
    `--aptopt=APT::Install-Recommends "false"`,
    // What is lost with a crash of this machine is built again.
    "--dpkgopt=force-unsafe-io",
    "--skip=output/mknod",
    ...recipe.files.map(
      ({ from, to, mode }) => `--customize-hook=install -D -m ${mode} ${quoted(from)} "$1"${quoted(to)}`,
    ),
    ...recipe.scripts.map(
      (script) =>
        `--customize-hook=cp ${quoted(script)} "$1/tmp/customize.sh" && chroot "$1" sh /tmp/customize.sh && rm "$1/tmp/customize.sh"`,
    ),
    recipe.suite,
    archive,
    ...sources,
  ];
  await runTool("mmdebstrap", words, { env: { TMPDIR: temporary }, say });
  rmSync(temporary, { recursive: true, force: true });
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
