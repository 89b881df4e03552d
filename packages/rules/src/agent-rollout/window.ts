export const daysOfWeek = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
export type DayOfWeek = (typeof daysOfWeek)[number];

/** When regions may be offered a version, by UTC. It begins on its days, and ends on the next one when `to` is not after `from`. */
export type UpdateWindow = {
  readonly days: readonly DayOfWeek[];
  /** `22:00`. */
  readonly from: string;
  readonly to: string;
};

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Whether the window is open; null is always. */
export function isWindowOpen(window: UpdateWindow | null, nowMs: number): boolean {
  if (window === null) return true;
  const today = startOfDay(nowMs);
  // One that began yesterday may still be open.
  return [today - dayMs, today].some((day) => {
    const opening = openingOf(window, day);
    return opening !== null && nowMs >= opening.fromMs && nowMs < opening.toMs;
  });
}

/** When a window that is closed opens next; null for one that has no day. */
export function nextOpening(window: UpdateWindow, nowMs: number): number | null {
  const today = startOfDay(nowMs);
  for (let days = 0; days <= 7; days += 1) {
    const opening = openingOf(window, today + days * dayMs);
    if (opening !== null && opening.fromMs > nowMs) return opening.fromMs;
  }
  return null;
}

function openingOf(
  { days, from, to }: UpdateWindow,
  dayStartMs: number,
): { readonly fromMs: number; readonly toMs: number } | null {
  const name = daysOfWeek[new Date(dayStartMs).getUTCDay()];
  if (name === undefined || !days.includes(name)) return null;
  const fromMs = dayStartMs + minutesOf(from) * minuteMs;
  const toMs = dayStartMs + minutesOf(to) * minuteMs;
  return { fromMs, toMs: toMs > fromMs ? toMs : toMs + dayMs };
}

const startOfDay = (nowMs: number): number => Math.floor(nowMs / dayMs) * dayMs;

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}
