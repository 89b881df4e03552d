import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { fileVariableOf, mayBeInFile, variables } from "./variables.ts";

const root = resolve(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/server-configuration.md"), "utf8");

/** Named in the apps, and no setting of an installation. */
const notForOperators = new Set([
  // Checks of test builds.
  "KULE_TEST_BUILD",
  "KULE_SCREENSHOTS",
  // The agent's, in messages about direct mode and its regions.
  "KULE_AGENT_TOKEN",
  "KULE_PVE_TOKEN",
  "KULE_AGENT_HEALTH_SECONDS",
  "KULE_AGENT_INVENTORY_SECONDS",
  // A name that the file of the provider gives.
  "KULE_DNS_API_KEY",
  // An error code in a text.
  "KULE_NOT_PUBLIC",
  // Which file doctor judges; kule-server sets it.
  "KULE_SERVER_CONFIGURATION",
]);

test("every setting of the API, the worker and the console has a name in the configuration, and no other", () => {
  const files = globSync("apps/{api,console}/src/**/*.{ts,tsx}", { cwd: root }).filter(
    (file) => !/\.test\.tsx?$|\/testing\//.test(file),
  );
  const named = new Set(
    files.flatMap((file) => readFileSync(join(root, file), "utf8").match(/\bKULE_[A-Z_]+[A-Z]\b/g) ?? []),
  );
  const known = Object.entries(variables).flatMap(([name, variable]) =>
    mayBeInFile(variable) ? [name, fileVariableOf(name)] : [name],
  );
  const settings = [...named].filter((name) => !notForOperators.has(name));
  expect(settings.filter((name) => !known.includes(name))).toEqual([]);
  // Only kule-server reads the owner's password: it adds it to the owner's URL.
  expect(Object.keys(variables).filter((name) => !named.has(name))).toEqual(["KULE_OWNER_DATABASE_PASSWORD"]);
});

test("docs/server-configuration.md explains every setting, and no other", () => {
  const documented = [...page.matchAll(/^\| `(KULE_[A-Z_]+)` \|/gm)].map(([, name]) => name);
  expect(documented.toSorted()).toEqual(Object.keys(variables).toSorted());
});

test("and says which programs read it", () => {
  for (const [name, { readBy }] of Object.entries(variables)) {
    const [, cell = ""] = new RegExp(`^\\| \`${name}\` \\| ([^|]*) \\|`, "m").exec(page) ?? [];
    const expected = readBy.filter((program) => program !== "doctor");
    expect([name, ...cell.split(", ")]).toEqual([name, ...expected]);
  }
});
