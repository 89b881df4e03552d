/**
 * The shortest failing part of a failing sequence that is found in the time: ever smaller pieces are left
 * out, as long as the rest fails (delta debugging).
 *
 * @param fails runs the sequence again and returns what is wrong, or null
 * @param isLate no more is tried once this is true
 */
export async function shorten<Item>(
  sequence: readonly Item[],
  failure: string,
  fails: (part: readonly Item[]) => Promise<string | null>,
  isLate: () => boolean,
): Promise<{ readonly sequence: readonly Item[]; readonly failure: string }> {
  let best = { sequence, failure };
  let size = Math.ceil(sequence.length / 2);
  while (size >= 1 && !isLate()) {
    let found = false;
    // From the end: the items after the failure are removed first.
    for (let to = best.sequence.length; to > 0 && !isLate(); to -= size) {
      const part = [...best.sequence.slice(0, Math.max(0, to - size)), ...best.sequence.slice(to)];
      if (part.length === best.sequence.length || part.length === 0) continue;
      const why = await fails(part);
      if (why === null) continue;
      best = { sequence: part, failure: why };
      found = true;
    }
    if (!found || size > 1) size = size === 1 && !found ? 0 : Math.max(1, Math.floor(size / 2));
  }
  return best;
}
