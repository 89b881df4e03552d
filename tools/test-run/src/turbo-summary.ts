/** One task of a run of Turborepo. */
export interface TaskRun {
  readonly task: string;
  /** The package's folder relative to the root; empty for the root's own tasks. */
  readonly folder: string;
  readonly fromCache: boolean;
  readonly exitCode: number;
}

/** The parts that are read here of the file that `turbo run --summarize` writes. */
interface Summary {
  readonly tasks: readonly {
    readonly task: string;
    readonly directory: string;
    readonly command: string;
    readonly cache: { readonly status: string };
    readonly execution: { readonly exitCode: number | null };
  }[];
}

/** The tasks that have a command: the others only pass their packages' hashes on. */
export function readTurboSummary(text: string): TaskRun[] {
  const { tasks } = JSON.parse(text) as Summary;
  return tasks
    .filter(({ command }) => command !== "<NONEXISTENT>")
    .map(({ task, directory, cache, execution }) => ({
      task,
      folder: directory,
      fromCache: cache.status === "HIT",
      exitCode: execution.exitCode ?? 1,
    }));
}
