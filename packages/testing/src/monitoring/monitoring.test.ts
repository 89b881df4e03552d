import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { documentedMetrics } from "../monitoring-page.ts";
import { requirePart } from "../parts.ts";
import { probePromtool, promtool } from "../promtool.ts";

const tool = await requirePart("promtool", probePromtool, import.meta.filename);

const root = resolve(import.meta.dirname, "../../../..");
const monitoring = join(root, "infra/monitoring");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const rules = read("infra/monitoring/alerts.yaml");

type Panel = { readonly title: string; readonly targets: readonly { readonly expr: string }[] };
const dashboard = JSON.parse(read("infra/monitoring/dashboard.json")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: string }[] };
};
const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

const alerts = [...rules.matchAll(/- alert: (\w+)\n(?:.*\n)*?\s+labels: \{ severity: (\w+) \}/g)].map(
  ([, name, severity]) => `${name} ${severity}`,
);

/** The metrics that a text names, without what a histogram adds to its name. */
function metricsIn(text: string): string[] {
  const names = text.match(/\b(?:kule|process|nodejs)_[a-z0-9_]+/g) ?? [];
  const known = documentedMetrics();
  const histograms = new Set(known.filter(({ type }) => type === "histogram").map(({ name }) => name));
  return names.map((name) => {
    const base = name.replace(/_(bucket|sum|count)$/, "");
    return histograms.has(base) ? base : name;
  });
}

describe("the alerts", () => {
  test("are those of the page, in its order and with its severity", () => {
    const described = [
      ...read("docs/runbooks/alerts.md").matchAll(/^## (Kule\w+)\n\n\*(page|ticket)\* – /gm),
    ];
    expect(alerts.length).toBe(rules.match(/- alert:/g)?.length);
    expect(described.map(([, name, severity]) => `${name} ${severity}`)).toEqual(alerts);
    expect(read("docs/runbooks/alerts.md").match(/^## /gm)).toHaveLength(alerts.length);
  });

  test("each fire in one test of the rules, and stay quiet in another", () => {
    const tests = read("infra/monitoring/alerts-test.yaml") + read("infra/monitoring/alerts-weeks-test.yaml");
    for (const name of alerts.map((alert) => alert.split(" ")[0])) {
      expect(tests).toMatch(new RegExp(`- alertname: ${name}\\n`));
      expect(tests).toMatch(new RegExp(`\\{ alertname: ${name}, eval_time: \\w+, exp_alerts: \\[\\] \\}`));
    }
  });

  test.skipIf(tool.missing)("are valid, and fire and stay quiet as their tests say", () => {
    const at = (file: string) => join(monitoring, file);
    expect(promtool(["check", "rules", at("alerts.yaml")])).toMatchObject({ code: 0 });
    for (const file of ["alerts-test.yaml", "alerts-weeks-test.yaml"]) {
      const { code, output } = promtool(["test", "rules", at(file)]);
      expect([code, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
    }
  });
});

test("alerts, dashboard and their pages name only metrics that exist", () => {
  const known = new Set(documentedMetrics().map(({ name }) => name));
  const variables = dashboard.templating.list.map(({ query }) => query);
  const named = [rules, ...queries, ...variables, read("docs/runbooks/alerts.md")].flatMap(metricsIn);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test.skipIf(tool.missing)("every query of the dashboard is one of PromQL", () => {
  const directory = mkdtempSync(join(tmpdir(), "kule-dashboard-"));
  const parse = (exprs: readonly string[]) => {
    const records = exprs.map(
      (expr, n) => `      - { record: "kule:query_${n}", expr: ${JSON.stringify(expr)} }`,
    );
    const file = join(directory, "queries.yaml");
    writeFileSync(file, `groups:\n  - name: dashboard\n    rules:\n${records.join("\n")}\n`);
    return promtool(["check", "rules", file]);
  };
  const filled = queries.map((expr) => expr.replaceAll("$__rate_interval", "5m").replaceAll("$region", ".+"));
  expect(queries.length).toBeGreaterThan(20);
  expect(filled.filter((expr) => expr.includes("$"))).toEqual([]);
  expect(parse(filled)).toMatchObject({ code: 0 });
  expect(parse(["sum by (region (kule_jobs)"]).code).not.toBe(0);
  rmSync(directory, { recursive: true });
});

test.skipIf(tool.missing)(
  "the sample of Prometheus' configuration is valid, and its jobs are those of the rules",
  () => {
    expect(promtool(["check", "config", join(monitoring, "prometheus.yaml")])).toMatchObject({ code: 0 });
    const jobs = [...read("infra/monitoring/prometheus.yaml").matchAll(/job_name: (\S+)/g)].map(
      ([, job]) => job,
    );
    expect(jobs).toEqual(["kule-api", "kule-worker", "kule-console"]);
    expect(new Set([...rules.matchAll(/job="([^"]+)"/g)].map(([, job]) => job))).toEqual(new Set(jobs));
  },
);
