import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Which of our packages each layer may use in what ships. Tests may use more (devDependencies), which is why
 * `turbo boundaries` alone, whose tags count those too, cannot enforce this table.
 */
const mayUse: Record<string, readonly string[]> = {
  "@kule/rules": [],
  "@kule/contract": [],
  "@kule/sealed-secret": [],
  "@kule/agent-release": [],
  "@kule/proxmox": [],
  "@kule/dns": [],
  "@kule/certificates": ["@kule/dns"],
  "@kule/edge": ["@kule/rules"],
  "@kule/region-config": [],
  "@kule/lab": [],
  "@kule/database": [],
  "@kule/postgres": [],
  "@kule/crash-points": [],
  "@kule/guest-images": [],
  "@kule/invariants": [],
  "@kule/programs": [
    "@kule/certificates",
    "@kule/contract",
    "@kule/crash-points",
    "@kule/dns",
    "@kule/edge",
    "@kule/rules",
    "@kule/proxmox",
    "@kule/sealed-secret",
  ],
  "@kule/agent": [
    "@kule/agent-release",
    "@kule/contract",
    "@kule/crash-points",
    "@kule/edge",
    "@kule/programs",
    "@kule/proxmox",
    "@kule/region-config",
    "@kule/sealed-secret",
  ],
  "@kule/api": [
    // Direct mode: the worker runs the agent's loops in its own process.
    "@kule/agent",
    "@kule/agent-release",
    "@kule/certificates",
    "@kule/contract",
    "@kule/crash-points",
    "@kule/dns",
    "@kule/rules",
    "@kule/database",
    "@kule/invariants",
    "@kule/programs",
    "@kule/proxmox",
    "@kule/region-config",
    "@kule/sealed-secret",
  ],
  "@kule/console": ["@kule/contract", "@kule/rules"],
  // It starts the other apps' bundles by their paths, and imports none of them.
  "@kule/server": ["@kule/region-config"],
};

/** Never part of what ships, so they may use anything. */
const testOnly = new Set(["@kule/testing", "@kule/battery"]);

const ourImport =
  /\bfrom\s+"(@kule\/[a-z0-9-]+)\/|\bimport\(\s*"(@kule\/[a-z0-9-]+)\/|^import\s+"(@kule\/[a-z0-9-]+)\//gm;

/** Every breach of the layers under `root`, one line each: what ships and imports what it must not. */
export function findLayerBreaches(root: string): string[] {
  return globSync("{apps,packages}/*/package.json", { cwd: root }).flatMap((manifest) => {
    const { name, dependencies = {} } = JSON.parse(readFileSync(join(root, manifest), "utf8")) as {
      name: string;
      dependencies?: Record<string, string>;
    };
    if (testOnly.has(name)) return [];
    const allowed = mayUse[name];
    if (allowed === undefined) return [`${manifest}: ${name} has no row in tools/check/src/layers.ts`];
    const breaches = Object.keys(dependencies)
      .filter((dependency) => dependency.startsWith("@kule/") && !allowed.includes(dependency))
      .map((dependency) => `${manifest}: ${name} must not depend on ${dependency}`);
    return [...breaches, ...findImportBreaches(root, dirname(manifest), name, allowed, dependencies)];
  });
}

function findImportBreaches(
  root: string,
  packageDir: string,
  name: string,
  allowed: readonly string[],
  dependencies: Record<string, string>,
): string[] {
  return globSync(`${packageDir}/src/**/*.{ts,tsx}`, { cwd: root })
    .filter((file) => !/\.test\.tsx?$|\/testing\/|\/fixtures\//.test(file))
    .flatMap((file) => {
      const source = readFileSync(join(root, file), "utf8");
      return [...source.matchAll(ourImport)]
        .map((match) => match[1] ?? match[2] ?? match[3] ?? "")
        .filter((used) => used !== name && !(allowed.includes(used) && used in dependencies))
        .map((used) =>
          allowed.includes(used)
            ? `${file}: imports ${used}, which ${packageDir}/package.json does not list in dependencies`
            : `${file}: ${name} must not import ${used}`,
        );
    });
}
