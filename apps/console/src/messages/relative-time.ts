const spans = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/**
 * How a language says how many seconds something is ahead, or with a minus how long ago it was: `in 2 days`,
 * `3 minutes ago`. Also for scripts in the browser.
 *
 * @param locale as `Intl` knows it
 */
export function relativeTimes(locale: string): (seconds: number) => string {
  const relatives = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  return (exactly) => {
    const seconds = Math.round(exactly);
    for (const [unit, size] of spans)
      if (Math.abs(seconds) >= size) return relatives.format(Math.trunc(seconds / size), unit);
    return relatives.format(Math.abs(seconds) < 5 ? 0 : seconds, "second");
  };
}
