// <time data-countdown datetime="…"> shows the time that remains, in the page's language.
const language = document.documentElement.lang || "en";

type Durations = { format(duration: Record<string, number>): string };
const Format = (Intl as unknown as { DurationFormat?: new (language: string, options: object) => Durations })
  .DurationFormat;
const durations = Format === undefined ? null : new Format(language, { style: "long" });
const secondsOnly =
  Format === undefined ? null : new Format(language, { style: "long", secondsDisplay: "always" });

function tick(): void {
  if (durations === null || secondsOnly === null || document.hidden) return;
  for (const element of document.querySelectorAll<HTMLTimeElement>("time[data-countdown]")) {
    const seconds = Math.max(0, Math.round((Date.parse(element.dateTime) - Date.now()) / 1000));
    const text = seconds < 60 ? secondsOnly.format({ seconds }) : durations.format(parts(seconds));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** The two largest units that are not zero. */
function parts(seconds: number): Record<string, number> {
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (days > 0) return { days, hours };
  if (hours > 0) return { hours, minutes };
  return { minutes, seconds: seconds % 60 };
}

setInterval(tick, 1000);
tick();
document.addEventListener("htmx:after:swap", tick);
