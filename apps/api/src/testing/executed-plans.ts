import pg from "pg";

/** A statement as Postgres executed it. */
export type ExecutedPlan = {
  readonly text: string;
  /** Pages of tables and indexes that were read, from memory or from the disk. */
  readonly pages: number;
  /** Rows that were read for a condition and did not meet it, but for those of tables that are read whole. */
  readonly discarded: number;
  /** Tables that were read from the first to the last page. */
  readonly scanned: readonly string[];
};

type PlanNode = {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
};

/** Lets Postgres tell every new connection of the database how it executes each statement. */
export async function announcePlans(owner: pg.Client | pg.Pool, database: string): Promise<void> {
  const settings = {
    session_preload_libraries: "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
    "auto_explain.log_nested_statements": "on",
  };
  for (const [name, value] of Object.entries(settings))
    await owner.query(`alter database ${database} set ${name} = '${value}'`);
}

/** The statements that this process' connections execute while the work runs (see {@link announcePlans}). */
export async function executedPlans(work: () => Promise<unknown>): Promise<ExecutedPlan[]> {
  const plans: ExecutedPlan[] = [];
  const { prototype } = pg.Client;
  const original = prototype.emit;
  // biome-ignore lint/suspicious/noExplicitAny: as any emitter's
  prototype.emit = function noting(this: pg.Client, event: any, ...args: any[]): boolean {
    const message: unknown = event === "notice" ? args[0]?.message : undefined;
    const json =
      typeof message === "string" ? /^duration: .* plan:\n(\{[\s\S]*)$/.exec(message)?.[1] : undefined;
    if (json === undefined) return original.call(this, event, ...args);
    plans.push(planOf(JSON.parse(json)));
    return true;
  };
  try {
    await work();
  } finally {
    // It is inherited.
    Reflect.deleteProperty(prototype, "emit");
  }
  return plans;
}

function planOf(executed: { readonly "Query Text": string; readonly Plan: PlanNode }): ExecutedPlan {
  const nodes = [...nodesOf(executed.Plan)];
  const discardedBy = (node: PlanNode) =>
    ((isReadWhole(node) ? 0 : (node["Rows Removed by Filter"] ?? 0)) +
      (node["Rows Removed by Index Recheck"] ?? 0) +
      (readsInnerWhole(node) ? 0 : (node["Rows Removed by Join Filter"] ?? 0))) *
    node["Actual Loops"];
  return {
    text: executed["Query Text"],
    pages: executed.Plan["Shared Hit Blocks"] + executed.Plan["Shared Read Blocks"],
    discarded: nodes.reduce((sum, node) => sum + discardedBy(node), 0),
    scanned: nodes.flatMap((node) =>
      isReadWhole(node) && node["Actual Loops"] > 0 ? [node["Relation Name"] ?? ""] : [],
    ),
  };
}

/** {@link ExecutedPlan.scanned} names its table: of a small one Postgres compares all rows. */
const isReadWhole = (node: PlanNode | undefined): boolean => node?.["Node Type"] === "Seq Scan";

/** A join with each row of such a table. */
function readsInnerWhole({ Plans: [, inner] = [] }: PlanNode): boolean {
  return isReadWhole(inner?.["Node Type"] === "Materialize" ? inner.Plans?.[0] : inner);
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}
