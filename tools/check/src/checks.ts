import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findConsoleFileBreaches } from "./console-files.ts";
import { runGenerators } from "./generators.ts";
import { findImportCircles } from "./import-circles.ts";
import { findLayerBreaches } from "./layers.ts";
import { findUnpinnedActions } from "./pinned-actions.ts";
import { findProductBreaches } from "./products.ts";
import { type CommandResult, runCommand } from "./run-command.ts";
import { copyTree, differingFiles, hashTree } from "./working-copy.ts";

export interface Check {
  name: string;
  run(root: string): Promise<CommandResult>;
}

/** All static checks of the tree at `root`: the fixed ones, then the `check` script of any workspace package. */
export function listChecks(root: string): Check[] {
  return [
    { name: "generated code is current", run: checkGenerated },
    command("types (tsc)", "tsc", ["--noEmit", "--pretty", "false", "-p", "tsconfig.json"]),
    command("lint and format (biome)", "biome", [
      "check",
      "--colors=off",
      "--error-on-warnings",
      "--diagnostic-level=warn",
      "--max-diagnostics=200",
      ".",
    ]),
    command("contract (redocly)", "redocly", ["lint", "docs/api/openapi.yaml"]),
    command("package boundaries (turbo)", "turbo", ["boundaries"]),
    { name: "layers", run: (root) => judged(findLayerBreaches(root)) },
    { name: "products", run: (root) => judged(findProductBreaches(root)) },
    {
      name: "console files",
      run: (root) =>
        judged([...findConsoleFileBreaches(root), ...findImportCircles(root, "apps/console/src")]),
    },
    { name: "pinned actions", run: (root) => judged(findUnpinnedActions(root)) },
    command("dead code (knip)", "knip", ["--no-config-hints", "--no-progress"]),
    ...packageChecks(root),
  ];
}

function command(name: string, program: string, args: string[]): Check {
  return { name, run: (root) => runCommand(join(root, "node_modules/.bin", program), args, root) };
}

async function judged(breaches: readonly string[]): Promise<CommandResult> {
  return { succeeded: breaches.length === 0, output: breaches.join("\n") };
}

function packageChecks(root: string): Check[] {
  return globSync("{apps,packages,tools}/*/package.json", { cwd: root })
    .sort()
    .flatMap((manifest) => {
      const { name, scripts } = JSON.parse(readFileSync(join(root, manifest), "utf8")) as {
        name: string;
        scripts?: Record<string, string>;
      };
      const script = scripts?.check;
      if (script === undefined) return [];
      return [
        {
          name: name.replace("@kule/", ""),
          run: (base: string) => runCommand("/bin/sh", ["-c", script], join(base, dirname(manifest))),
        },
      ];
    });
}

/**
 * Runs every generator in a copy of the tree and compares. Uncommitted work is included: generating again
 * must change nothing.
 */
async function checkGenerated(root: string): Promise<CommandResult> {
  const copy = mkdtempSync(join(tmpdir(), "kule-generated-"));
  try {
    copyTree(root, copy);
    const before = hashTree(copy);
    const result = await runGenerators(copy);
    if (!result.succeeded) return result;
    const stale = differingFiles(before, hashTree(copy));
    return {
      succeeded: stale.length === 0,
      output: `Not what the generators write now (run \`npm run generate\`, and edit the source, not these):\n${stale.map((path) => `  ${path}`).join("\n")}`,
    };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
