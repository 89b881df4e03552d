/** What an agent's log says of the jobs that it had: lines of JSON. */
export type AgentsWord = {
  /** Which agents were given a job under an epoch, by `job/epoch`. */
  readonly given: Map<string, Set<string>>;
  /** Under which epochs an agent's end of a job was accepted, by job. */
  readonly ended: Map<string, number[]>;
};

export const emptyWord = (): AgentsWord => ({ given: new Map(), ended: new Map() });

/** Adds what one agent printed. The last line may be cut short: it was killed. */
export function readAgentLog(word: AgentsWord, agent: string, output: string): void {
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

/** One agent for each claim, one accepted end for each job, and that under the epoch which ended it. */
export function judgeAgentsWord(word: AgentsWord, endedUnder: ReadonlyMap<string, number | null>): string[] {
  const violations: string[] = [];
  for (const [key, agents] of word.given)
    if (agents.size > 1)
      violations.push(`${key} was given to ${agents.size} agents: ${[...agents].join(", ")}`);
  for (const [job, epochs] of word.ended) {
    // A retry ends an attempt and not the job, so only a job's last word is held against its end.
    const last = endedUnder.get(job);
    const late = epochs.filter((epoch) => last != null && epoch > last);
    if (late.length > 0)
      violations.push(`${job} ended under epoch ${last}, and agents were told yes under ${late}`);
    const times = epochs.filter((epoch) => epoch === last).length;
    if (times > 1)
      violations.push(`${job} was ended ${times} times under epoch ${last}: a double completion`);
    const early = epochs.filter((epoch) => last != null && epoch < last).length;
    if (early > 0 && times > 0)
      violations.push(`${job} was ended under epoch ${epochs.join(" and ")}: a former holder's word counted`);
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
