import fc from "fast-check";
import { expect, test } from "vitest";
import { isLabelKey, isLabelValue } from "./selector.ts";
import { parseTypedLabels } from "./typed-labels.ts";

test.each([
  ["", {}],
  [" , ;\n", {}],
  ["env=prod, role=web", { env: "prod", role: "web" }],
  ["env = prod\r\nrole=web;", { env: "prod", role: "web" }],
  ["spare", { spare: "" }],
  ["spare=", { spare: "" }],
  ["example.org/owner=ada", { "example.org/owner": "ada" }],
  ["role=web, role=web", { role: "web" }],
])("%j is read", (text, labels) => {
  expect(parseTypedLabels(text)).toEqual({ labels, wrong: [] });
});

test.each([
  ["my role=web", "key"],
  ["=web", "key"],
  ["-a", "key"],
  ["__proto__=1", "key"],
  ["role=two words", "value"],
  ["a=b=c", "value"],
  [`role=${"x".repeat(64)}`, "value"],
])("%j is wrong in its %s", (term, wrong) => {
  expect(parseTypedLabels(`env=prod, ${term}`).wrong).toEqual([{ term, wrong }]);
});

test("one key with two values is wrong, whichever was meant", () => {
  expect(parseTypedLabels("role=web, role=api")).toEqual({
    labels: { role: "web", "=role=api": "" },
    wrong: [{ term: "role=api", wrong: "twice" }],
  });
});

test("whatever is wrong is there as a key that no label can have, and only then", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const { labels, wrong } = parseTypedLabels(text);
      const entries = Object.entries(labels);
      const sound = entries.every(([key, value]) => isLabelKey(key) && isLabelValue(value));
      expect(sound).toBe(wrong.length === 0);
    }),
  );
});

test("labels that are typed are read as they were meant", () => {
  const term = fc.stringMatching(/^[a-z][a-z0-9.-]{0,8}[a-z]$/);
  fc.assert(
    fc.property(fc.dictionary(term, fc.oneof(term, fc.constant(""))), (labels) => {
      const typed = Object.entries(labels).map((entry) => entry.join("="));
      expect(parseTypedLabels(typed.join(", "))).toEqual({ labels, wrong: [] });
    }),
  );
});
