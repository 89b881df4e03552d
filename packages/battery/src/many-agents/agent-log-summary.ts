/** What an agent's log records of its jobs: lines of JSON. */
export type AgentLogSummary = {
  /** Which agents were given a job under an epoch, by `job/epoch`. */
  readonly given: Map<string, Set<string>>;
  /** Under which epochs an agent's end of a job was accepted, by job. */
  readonly ended: Map<string, number[]>;
};

export const emptyWord = (): AgentLogSummary => ({ given: new Map(), ended: new Map() });

/** Adds what one agent printed. The last line may be cut short: it was killed. */
export function readAgentLog(word: AgentLogSummary, agent: string, output: string): void {
  for (const line of output.split("\n")) {
    const entry = parse(line);
    if (entry === null) continue;
    const { job, epoch, msg } = entry;
    if (msg === "job claimed") {
      const key = `${job}/${epoch}`;
      word.given.set(key, (word.given.get(key) ?? new Set()).add(agent));
    } else if (msg === "job succeeded" || msg.startsWith("job ended:")) {
      word.ended.set(job, [...(word.ended.get(job) ?? []), epoch]);
    }
  }
}

/**
 * One agent for each claim, and each end that was acknowledged to an agent is in the job's history, once:
 * also the end of an attempt whose job went back into the queue.
 *
 * @param attemptsEnded `job/epoch` of every attempt that a report ended
 */
export function judgeAgentLogs(word: AgentLogSummary, attemptsEnded: ReadonlySet<string>): string[] {
  const violations: string[] = [];
  for (const [key, agents] of word.given)
    if (agents.size > 1)
      violations.push(`${key} was given to ${agents.size} agents: ${[...agents].join(", ")}`);
  for (const [job, epochs] of word.ended)
    for (const [epoch, times] of Map.groupBy(epochs, (each) => each)) {
      if (!attemptsEnded.has(`${job}/${epoch}`))
        violations.push(
          `an agent was told yes for ${job} under epoch ${epoch}: a former holder's word counted`,
        );
      if (times.length > 1)
        violations.push(`${job} was ended ${times.length} times under epoch ${epoch}: a double completion`);
    }
  return violations;
}

type Entry = { readonly job: string; readonly epoch: number; readonly msg: string };

function parse(line: string): Entry | null {
  if (!line.includes('"job claimed"') && !line.includes('"job succeeded"') && !line.includes('"job ended:'))
    return null;
  try {
    const { job, epoch, msg } = JSON.parse(line) as Partial<Entry>;
    return typeof job === "string" && typeof epoch === "number" && typeof msg === "string"
      ? { job, epoch, msg }
      : null;
  } catch {
    return null;
  }
}
