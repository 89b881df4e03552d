import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { openapi } from "@kule/contract/generated/openapi";
import { type ConflictCode, preconditions } from "@kule/rules/preconditions";
import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../../../..");
const table = "packages/rules/src/preconditions.ts";
const constructors = "packages/rules/src/refusals.ts";
const sources = globSync("{apps/api,packages/rules}/src/**/*.ts", { cwd: root })
  .filter((path) => !/\.test\.ts$|\/testing\//.test(path) && path !== table)
  .map((path) => ({ path, text: readFileSync(resolve(root, path), "utf8") }));

type Listed = { readonly enum: readonly string[] };
const { schemas } = openapi.components as {
  schemas: {
    PreconditionName: Listed;
    ErrorCode: Listed;
    Precondition: { properties: { fix: { pattern: string } } };
  };
};
const codes = Object.keys(preconditions) as ConflictCode[];
const names = [...new Set<string>(codes.flatMap((code) => [...preconditions[code]]))].sort();

/** `quota_${name}` with each possible name. */
const templates = sources.flatMap(({ text }) =>
  [...text.matchAll(/`([a-z_]*)\$\{\w+\}([a-z_]*)`/g)]
    .filter(([, before, after]) => `${before}${after}`.includes("_"))
    .map(([, before, after]) => new RegExp(`^${before}[a-z_]+${after}$`)),
);

describe("the preconditions of a 409", () => {
  test("the contract lists the names that the code has, and no others", () => {
    expect([...schemas.PreconditionName.enum].sort()).toEqual(names);
  });

  test("every code is one of the contract's error codes", () => {
    expect(codes.filter((code) => !schemas.ErrorCode.enum.includes(code))).toEqual([]);
  });

  test.each(names)("%s is answered somewhere", (name) => {
    const isWritten = sources.some(({ text }) => text.includes(`"${name}"`));
    expect(isWritten || templates.some((template) => template.test(name))).toBe(true);
  });

  test("no refusal is built without its constructor: each code has one", () => {
    const literal = new RegExp(`\\bname:\\s*"(${names.join("|")})"`);
    const found = sources.filter(({ path, text }) => path !== constructors && literal.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
    const text = readFileSync(resolve(root, constructors), "utf8");
    for (const code of codes)
      expect(text.match(new RegExp(`refusing\\("${code}"\\)`, "g")), code).toHaveLength(1);
  });

  test("the contract allows no fix with a placeholder in the place of an id", () => {
    const pattern = new RegExp(schemas.Precondition.properties.fix.pattern);
    expect(pattern.test("POST /networks/{network_id}/subnets")).toBe(false);
    expect(pattern.test('PATCH /servers/srv_1 {"protection":{"delete":false}}')).toBe(true);
  });
});
