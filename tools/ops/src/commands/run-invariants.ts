import type { Command } from "../command.ts";
import { printable, textTable } from "../text-table.ts";

export const runInvariants: Command = {
  noun: "invariants",
  verb: "run",
  summary: "Check the database against its invariants now; exit code 1 when one is violated",
  options: {},
  async run(_given, api) {
    const report = await api.ask(
      api.client().GET("/operator/invariants", { params: { query: { fresh: true } } }),
    );
    const { violations, violations_total: total, not_checked: notChecked, stale } = report;
    return {
      json: report,
      hasFailed: total > 0 || stale === true,
      text: () =>
        [
          `checked at ${report.checked_at ?? "no time"}, in ${report.duration_ms ?? 0} ms: ${total} violations`,
          ...(violations.length === 0
            ? []
            : [
                textTable(
                  ["INVARIANT", "SINCE", "WHERE", "WHAT"],
                  violations.map(({ invariant, since, subject, check }) => [
                    invariant,
                    since,
                    subject,
                    check,
                  ]),
                ),
                "docs/runbooks/invariants.md says what each means and what to do",
              ]),
          ...notChecked.map(({ invariant, reason }) => `not checked: ${invariant}: ${printable(reason)}`),
        ].join("\n"),
    };
  },
};
