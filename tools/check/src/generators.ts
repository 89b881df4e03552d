import { globSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type CommandResult, runCommand } from "./run-command.ts";

interface Package {
  name: string;
  dir: string;
  dependencies: string[];
  generate: string | undefined;
}

/**
 * Runs the `generate` script of every workspace package under `root`, each after those of the packages it
 * depends on. This is `turbo run generate` without pnpm, which in a copy of the tree would "repair" the
 * installation it finds linked there.
 */
export async function runGenerators(root: string): Promise<CommandResult> {
  for (const { dir, generate } of inDependencyOrder(readPackages(root))) {
    if (generate === undefined) continue;
    const bins = [join(root, dir, "node_modules/.bin"), join(root, "node_modules/.bin")].join(delimiter);
    const result = await runCommand("/bin/sh", ["-c", generate], join(root, dir), bins);
    if (!result.succeeded) return { succeeded: false, output: `${dir}: ${generate}\n${result.output}` };
  }
  return { succeeded: true, output: "" };
}

function readPackages(root: string): Package[] {
  return globSync("{apps,packages,tools}/*/package.json", { cwd: root })
    .sort()
    .map((manifest) => {
      const content = JSON.parse(readFileSync(join(root, manifest), "utf8")) as {
        name: string;
        scripts?: Record<string, string>;
        dependencies?: Record<string, string>;
        devDependencies?: Record<string, string>;
      };
      return {
        name: content.name,
        dir: dirname(manifest),
        dependencies: Object.keys({ ...content.dependencies, ...content.devDependencies }),
        generate: content.scripts?.generate,
      };
    });
}

function inDependencyOrder(packages: Package[]): Package[] {
  const byName = new Map(packages.map((one) => [one.name, one]));
  const ordered = new Set<Package>();
  const begun = new Set<Package>();
  const visit = (one: Package) => {
    if (begun.has(one)) return;
    begun.add(one);
    for (const name of one.dependencies) {
      const dependency = byName.get(name);
      if (dependency !== undefined) visit(dependency);
    }
    ordered.add(one);
  };
  for (const one of packages) visit(one);
  return [...ordered];
}
