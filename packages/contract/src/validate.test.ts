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

test("a bad label key is named once, at its path", () => {
  const result = validateBody("createSshKey", { name: "a", public_key: "b", labels: { "no good!": "x" } });
  expect(result.ok ? [] : result.errors.map((error) => error.pointer)).toEqual(["/labels/no good!"]);
});

test("an e-mail needs a name, one @ and a domain with a dot in it", () => {
  const problems = (email: string) => {
    const checked = validateBody("login", { email, password: "p" });
    return checked.ok ? [] : checked.errors.map(({ pointer }) => pointer);
  };
  for (const email of ["ada@example.org", "a.b+c@x.y.z", "ä@ö.ü"]) expect(problems(email)).toEqual([]);
  for (const email of ["ada", "@x.y", "a@b", "a@.y", "a@x.", "a@x..y", "a@b@x.y", "a b@x.y"])
    expect(problems(email)).toEqual(["/email"]);
});

test("a megabyte that is no e-mail is refused without a noticeable delay", () => {
  const startedAt = performance.now();
  expect(validateBody("login", { email: `a@${".a".repeat(500_000)}@`, password: "p" }).ok).toBe(false);
  // Quadratic backtracking took minutes here, in a request that needs no token.
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

test("a value that may also be null is refused for what it is, and not for not being null", () => {
  const codes = (ptr: unknown) => {
    const checked = validateBody("updatePublicIp", { ptr });
    return checked.ok ? [] : checked.errors.map(({ code, message }) => `${code}: ${message}`);
  };
  expect(codes("bad_name..")).toEqual(["invalid_format: does not have the required format"]);
  expect(codes(7)).toEqual(["invalid_type: must be string"]);
  expect(codes(null)).toEqual([]);
});
