import type { Language } from "./messages.ts";
import { relativeTimes } from "./relative-time.ts";

/** Times, sizes and numbers as a language writes them. */
export type Format = {
  /** `21 November 2026, 08:13 UTC`. The browser's time zone is unknown here, so the zone is included. */
  dateTime(rfc3339: string): string;
  /** `3 minutes ago`, `in 2 days`. */
  relative(rfc3339: string, now: Date): string;
  /** The two largest units of a span in milliseconds: `1 minute 5 seconds`. */
  duration(milliseconds: number): string;
  number(value: number): string;
  /** `November 2026`. */
  month(rfc3339: string): string;
  /** A day of the calendar, `2026-11-21`, without its year. */
  day(date: string): string;
  /** 0 to 100 as `40%` or `%40`. */
  percent(value: number): string;
  /** Megabytes as gigabytes: `8 GB`. */
  memory(megabytes: number): string;
  disk(gigabytes: number): string;
  /** `412 B`, `48.2 kB`, `3 MB`. */
  bytes(value: number): string;
};

const formats = new Map<Language, Format>();

export function formatOf(language: Language): Format {
  const known = formats.get(language);
  if (known !== undefined) return known;
  const made = createFormat(language);
  formats.set(language, made);
  return made;
}

function createFormat(language: Language): Format {
  const locale = language === "en" ? "en-GB" : language;
  const dates = new Intl.DateTimeFormat(locale, {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "UTC",
  });
  const days = new Intl.DateTimeFormat(locale, { day: "numeric", month: "long", timeZone: "UTC" });
  const months = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone: "UTC" });
  const relative = relativeTimes(locale);
  const durations = new Intl.DurationFormat(locale, { style: "long" });
  const secondsOnly = new Intl.DurationFormat(locale, { style: "long", secondsDisplay: "always" });
  const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const percents = new Intl.NumberFormat(locale, { style: "percent" });
  return {
    dateTime: (time) => `${dates.format(new Date(time))} UTC`,
    relative: (time, now) => relative((Date.parse(time) - now.getTime()) / 1000),
    duration(milliseconds) {
      const seconds = Math.max(0, Math.round(milliseconds / 1000));
      const days = Math.floor(seconds / 86_400);
      const hours = Math.floor((seconds % 86_400) / 3600);
      const minutes = Math.floor((seconds % 3600) / 60);
      if (days > 0) return durations.format({ days, hours });
      if (hours > 0) return durations.format({ hours, minutes });
      if (minutes > 0) return durations.format({ minutes, seconds: seconds % 60 });
      return secondsOnly.format({ seconds });
    },
    number: (value) => numbers.format(value),
    month: (time) => months.format(new Date(time)),
    day: (date) => days.format(new Date(date)),
    percent: (value) => percents.format(value / 100),
    memory: (megabytes) => `${numbers.format(megabytes / 1024)} GB`,
    disk: (gigabytes) => `${numbers.format(gigabytes)} GB`,
    bytes(value) {
      if (value < 1000) return `${numbers.format(value)} B`;
      return value < 1_000_000
        ? `${numbers.format(value / 1000)} kB`
        : `${numbers.format(value / 1_000_000)} MB`;
    },
  };
}
