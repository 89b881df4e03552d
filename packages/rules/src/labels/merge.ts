export type Labels = { readonly [key: string]: string };
export type LabelChanges = { readonly [key: string]: string | null };

export const maxLabels = 64;

export type MergedLabels =
  | { readonly ok: true; readonly labels: Labels }
  | { readonly ok: false; readonly message: string };

/** Applies changes to labels: a value sets, null removes, other keys stay. Keys are sorted. */
export function mergeLabels(labels: Labels, changes: LabelChanges): MergedLabels {
  const merged = new Map(Object.entries(labels));
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  if (merged.size > maxLabels)
    return { ok: false, message: `there would be ${merged.size} labels; at most ${maxLabels} are accepted` };
  return { ok: true, labels: Object.fromEntries([...merged].sort(([a], [b]) => (a < b ? -1 : 1))) };
}
