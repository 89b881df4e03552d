import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { operations } from "@kule/contract/generated/operations";

/** Operations of the contract without a handler, or that no test names. */
export function uncoveredOperations(root: string): string[] {
  const read = (patterns: string[], exclude: (file: string) => boolean) =>
    globSync(patterns, { cwd: root })
      .filter((file) => !exclude(file))
      .map((file) => readFileSync(path.join(root, file), "utf8"))
      .join("\n");
  const isTest = (file: string) => file.endsWith(".test.ts") || file.endsWith(".test.tsx");
  const handlers = read(["apps/api/src/**/*.ts"], isTest);
  const tests = read(["apps/api/src/**/*.test.ts", "packages/testing/src/**/*.ts"], (file) => !isTest(file));

  return Object.values(operations).flatMap(({ id, method, path: route }) => {
    const findings: string[] = [];
    if (!handlers.includes(`"${id}"`))
      findings.push(`${id} (${method.toUpperCase()} ${route}) has no handler in apps/api`);
    if (!tests.includes(id) && !tests.includes(route.split("{")[0] ?? route))
      findings.push(`${id} (${method.toUpperCase()} ${route}) is in no test of apps/api or packages/testing`);
    return findings;
  });
}
