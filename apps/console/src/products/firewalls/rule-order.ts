type Ordered = { readonly direction: "in" | "out"; readonly action: "allow" | "deny" };
type Prioritised = Ordered & { readonly priority: number | string };

/** The order of evaluation: inbound before outbound, then by priority, and at the same priority deny before allow. */
export function inEvaluationOrder<Rule extends Prioritised>(rules: readonly Rule[]): Rule[] {
  return rules.toSorted(
    (one, other) =>
      Number(one.direction === "out") - Number(other.direction === "out") ||
      Number(one.priority) - Number(other.priority) ||
      Number(one.action === "allow") - Number(other.action === "allow"),
  );
}

/** The next row of the same traffic direction, up or down; null when there is none. */
export function neighbourOf(rules: readonly Ordered[], row: number, way: "up" | "down"): number | null {
  const rule = rules[row];
  const step = way === "up" ? -1 : 1;
  for (let at = row + step; at >= 0 && at < rules.length; at += step)
    if (rules[at]?.direction === rule?.direction) return at;
  return null;
}

/**
 * Swaps two neighbouring rows. Priorities alone define the order of evaluation, so they change with the places: the two
 * rows swap theirs, and where that is not enough, later rows are increased by the least that keeps the order shown.
 */
export function moveRule<Rule extends Ordered & { readonly priority: string }>(
  rules: readonly Rule[],
  from: number,
  to: number,
): Rule[] {
  const [above, below] = [rules[Math.min(from, to)], rules[Math.max(from, to)]];
  if (above === undefined || below === undefined || above === below) return [...rules];
  const moved = rules
    .with(Math.min(from, to), { ...below, priority: above.priority })
    .with(Math.max(from, to), { ...above, priority: below.priority });
  let before: Rule | null = null;
  return moved.map((rule, row) => {
    if (rule.direction !== above.direction) return rule;
    const kept: Rule =
      before === null || row < Math.min(from, to) ? rule : { ...rule, priority: atLeastAfter(before, rule) };
    before = kept;
    return kept;
  });
}

function atLeastAfter(
  before: Ordered & { readonly priority: string },
  rule: Ordered & { readonly priority: string },
): string {
  const isBehind = before.action === "allow" && rule.action === "deny";
  const least = Number(before.priority) + (isBehind ? 1 : 0);
  return Number(rule.priority) >= least || Number.isNaN(least) ? rule.priority : String(least);
}
