/** A month of usage in UTC, as bills have it. */
export type Month = {
  /** `2026-11`. */
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly days: readonly string[];
  readonly previous: string;
  /** Null in the current month: the next one has no data. */
  readonly next: string | null;
};

/** The requested month; the current one if the request is invalid or lies in the future. */
export function monthOf(asked: string | undefined, now: Date): Month {
  const current = now.toISOString().slice(0, 7);
  const id =
    asked !== undefined && /^20\d\d-(0[1-9]|1[0-2])$/.test(asked) && asked <= current ? asked : current;
  const [year = 0, month = 1] = id.split("-").map(Number);
  const at = (offset: number) => new Date(Date.UTC(year, month - 1 + offset, 1));
  const last = new Date(at(1).getTime() - 1).getUTCDate();
  return {
    id,
    from: at(0).toISOString(),
    to: at(1).toISOString(),
    days: Array.from({ length: last }, (_, day) => `${id}-${String(day + 1).padStart(2, "0")}`),
    previous: at(-1).toISOString().slice(0, 7),
    next: id === current ? null : at(1).toISOString().slice(0, 7),
  };
}
