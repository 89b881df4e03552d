// <time data-age datetime="…"> shows how long ago or how far ahead a moment is: a page that is polled is not sent again
// while only that changes. By the server's clock, since the browser's may be wrong.
const { lang, dataset } = document.documentElement;
const aheadMilliseconds = Date.parse(dataset.now ?? "") - Date.now();
const relatives = new Intl.RelativeTimeFormat(lang === "en" ? "en-GB" : lang, { numeric: "auto" });
const spans = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

function tick(): void {
  if (document.hidden) return;
  for (const element of document.querySelectorAll<HTMLTimeElement>("time[data-age]")) {
    // What a screen reader reads out when it changes keeps the page's own text.
    if (element.closest("[aria-live]") !== null) continue;
    const text = relative((Date.parse(element.dateTime) - Date.now() - aheadMilliseconds) / 1000);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** In the words of the panel's own format. */
function relative(exactly: number): string {
  const seconds = Math.round(exactly);
  for (const [unit, size] of spans)
    if (Math.abs(seconds) >= size) return relatives.format(Math.trunc(seconds / size), unit);
  return relatives.format(Math.abs(seconds) < 5 ? 0 : seconds, "second");
}

if (!Number.isNaN(aheadMilliseconds)) setInterval(tick, 1000);
