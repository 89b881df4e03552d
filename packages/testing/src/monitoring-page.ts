import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What shows a metric: a process, by the name that its part of the page has. */
export type Scraped = "api" | "worker" | "console";

export type DocumentedMetric = {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly shownBy: readonly Scraped[];
};

/** The rows of the tables of docs/runbooks/monitoring.md: | `name` | type | labels | shown by | meaning |. */
export function documentedMetrics(): DocumentedMetric[] {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/runbooks/monitoring.md"), "utf8");
  const row =
    /^\| `([a-z][a-z0-9_]*)` \| (counter|gauge|histogram|summary) \| ([^|]*) \| ([^|]*) \| [^|]+ \|$/gm;
  return [...page.matchAll(row)].map(([, name = "", type = "", labels = "", shownBy = ""]) => ({
    name,
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label).sort(),
    shownBy: shownBy.split(", ").map((each) => each.trim() as Scraped),
  }));
}

/** The page's metrics of one process, and the metrics that a registry of it has, in one form to compare. */
export function documentedFor(process: Scraped): string[] {
  return documentedMetrics()
    .filter(({ shownBy }) => shownBy.includes(process))
    .map(({ name, type, labels }) => line(name, type, labels))
    .sort();
}

/** prom-client's own type does not name the labels. */
type RegisteredMetric = {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
};

export function registeredIn(registry: { getMetricsAsArray(): unknown[] }): string[] {
  return (registry.getMetricsAsArray() as RegisteredMetric[])
    .map((metric) => line(metric.name, typeOf(metric), [...(metric.labelNames ?? [])].sort()))
    .sort();
}

function typeOf(metric: object): string {
  return metric.constructor.name.toLowerCase();
}

function line(name: string, type: string, labels: readonly string[]): string {
  return `${type} ${name}{${labels.join(",")}}`;
}
