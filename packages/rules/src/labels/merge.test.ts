import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeLabels } from "./merge.ts";

test("a value sets, null removes, other labels stay", () => {
  expect(mergeLabels({ role: "web", tier: "x" }, { role: "api", tier: null, owner: "ada" })).toEqual({
    ok: true,
    labels: { owner: "ada", role: "api" },
  });
});

test("removing what is not there changes nothing", () => {
  expect(mergeLabels({ a: "1" }, { b: null })).toEqual({ ok: true, labels: { a: "1" } });
});

test("64 labels are the most, counted after the change", () => {
  const full = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`k${index}`, ""]));
  expect(mergeLabels(full, { k0: "changed" }).ok).toBe(true);
  expect(mergeLabels(full, { more: "1" }).ok).toBe(false);
  expect(mergeLabels(full, { more: "1", k0: null }).ok).toBe(true);
});

test("the same changes twice are the same as once", () => {
  const key = fc.constantFrom("a", "b", "c", "__proto__");
  fc.assert(
    fc.property(
      fc.dictionary(key, fc.string()),
      fc.dictionary(key, fc.option(fc.string())),
      (labels, changes) => {
        const once = mergeLabels(labels, changes);
        if (!once.ok) throw new Error(once.message);
        expect(mergeLabels(once.labels, changes)).toEqual(once);
      },
    ),
  );
});
