// Facts about a VM that a job needs until it ends, written on the VM itself: whether a guest was rebooted or
// its password set cannot be observed. One line of the description, next to the marker; the next job's
// replaces it. A job without facts is recorded too: the last job that changed the config makes its digest
// unique. A job that is retried after another one has changed the config would restore the earlier digest, so
// turns are counted.

export type JobNote = { readonly jobId: string; readonly facts: Readonly<Record<string, string>> };

const LINE = /^kule:job (\S+)(?: turn=(\d+))?((?: [a-z]+=\S+)*)$/;

/** The note in a VM's description; null when there is none. */
export function parseJobNote(description: string | undefined): JobNote | null {
  return parse(description)?.note ?? null;
}

/** `turn`: counts from 1 how often another job than before has changed the config. */
function parse(description: string | undefined): { readonly note: JobNote; readonly turn: number } | null {
  for (const line of (description ?? "").split(/\r?\n/)) {
    const match = LINE.exec(line.trim());
    if (!match) continue;
    const [, jobId = "", turn = "1", facts = ""] = match;
    const pairs = facts.split(" ").flatMap((fact) => {
      const at = fact.indexOf("=");
      return at < 0 ? [] : [[fact.slice(0, at), fact.slice(at + 1)] as const];
    });
    return { note: { jobId, facts: Object.fromEntries(pairs) }, turn: Number(turn) };
  }
  return null;
}

/** The description with this note instead of any other. Throws on a fact that could not be read back. */
export function withJobNote(description: string | undefined, note: JobNote): string {
  const facts = Object.entries(note.facts).map(([name, value]) => ` ${name}=${value}`);
  const last = parse(description);
  const turn = last === null ? 1 : last.note.jobId === note.jobId ? last.turn : last.turn + 1;
  const line = `kule:job ${note.jobId}${turn === 1 ? "" : ` turn=${turn}`}${facts.join("")}`;
  if ("turn" in note.facts || !LINE.test(line))
    throw new TypeError(`these values cannot form a note: ${line}`);
  const others = (description ?? "").split(/\r?\n/).filter((each) => !LINE.test(each.trim()));
  return [others.join("\n").trim(), line].join("\n").trim();
}

/** The description with the job's note: the present one, or one without facts instead of another job's. */
export function withChangeNoted(description: string | undefined, jobId: string): string {
  const has = parseJobNote(description)?.jobId === jobId;
  return has ? (description ?? "") : withJobNote(description, { jobId, facts: {} });
}
