import { expect, test } from "vitest";
import { validateBody, validateParameters } from "./validate.ts";

test.each(["1e309", "-1e309", "Infinity"])("a page of %s items is refused as out of range", (limit) => {
  expect(validateParameters("listServers", "query", { limit })).toMatchObject({
    ok: false,
    errors: [{ field: "limit", code: "out_of_range" }],
  });
});

test("a number that is too big for JSON's readers is refused in bodies too", () => {
  const body = JSON.parse('{"epoch":1e400,"seq":1}');
  expect(validateBody("reportStep", body)).toMatchObject({ ok: false, errors: [{ pointer: "/epoch" }] });
});

test("a bad label key is named once, where it stands", () => {
  const result = validateBody("createSshKey", { name: "a", public_key: "b", labels: { "no good!": "x" } });
  expect(result.ok ? [] : result.errors.map((error) => error.pointer)).toEqual(["/labels/no good!"]);
});
