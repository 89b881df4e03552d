import { expect, test } from "vitest";
import { inEvaluationOrder, moveRule, neighbourOf } from "./rule-order.ts";

type Rule = {
  readonly name: string;
  readonly direction: "in" | "out";
  readonly action: "allow" | "deny";
  readonly priority: string;
};
const rule = (
  name: string,
  priority: number,
  action: "allow" | "deny" = "allow",
  direction: "in" | "out" = "in",
): Rule => ({ name, direction, action, priority: String(priority) });
const shown = (rules: readonly Rule[]) => rules.map(({ name, priority }) => `${name} ${priority}`);

test("rules are listed in the order of evaluation: inbound first, by priority, deny before allow at the same priority", () => {
  const rules = [
    rule("out", 1, "deny", "out"),
    rule("late", 2000),
    rule("allow", 1000),
    rule("deny", 1000, "deny"),
  ];
  expect(shown(inEvaluationOrder(rules))).toEqual(["deny 1000", "allow 1000", "late 2000", "out 1"]);
});

test("two rules of different priorities swap them, and the others keep theirs", () => {
  const rules = [rule("a", 100), rule("b", 500), rule("c", 900)];
  expect(shown(moveRule(rules, 2, 1))).toEqual(["a 100", "c 500", "b 900"]);
  expect(shown(moveRule(rules, 0, 1))).toEqual(["b 100", "a 500", "c 900"]);
});

test("an allow rule moves before a deny rule of the same priority only by increasing the deny rule's priority", () => {
  const rules = [rule("deny", 1000, "deny"), rule("allow", 1000), rule("after", 1000), rule("far", 2000)];
  const moved = moveRule(rules, 1, 0);
  expect(shown(moved)).toEqual(["allow 1000", "deny 1001", "after 1001", "far 2000"]);
  expect(shown(inEvaluationOrder(moved))).toEqual(shown(moved));
});

test("every move preserves the order that it shows", () => {
  const rules = [
    rule("a", 10, "deny"),
    rule("b", 10),
    rule("c", 10),
    rule("d", 11, "deny"),
    rule("e", 11),
    rule("f", 500),
  ];
  for (let from = 0; from < rules.length; from++)
    for (const to of [from - 1, from + 1].filter((at) => at >= 0 && at < rules.length)) {
      const moved = moveRule(rules, from, to);
      expect(moved[to]?.name).toBe(rules[from]?.name);
      expect(shown(inEvaluationOrder(moved)), `${from} to ${to}`).toEqual(shown(moved));
    }
});

test("rows of the other direction are skipped, and the first and last row have no neighbour", () => {
  const rules = [rule("a", 1), rule("out", 1, "allow", "out"), rule("b", 2)];
  expect(neighbourOf(rules, 2, "up")).toBe(0);
  expect(neighbourOf(rules, 0, "up")).toBeNull();
  expect(neighbourOf(rules, 1, "down")).toBeNull();
  expect(shown(moveRule(rules, 2, 0))).toEqual(["b 1", "out 1", "a 2"]);
});
