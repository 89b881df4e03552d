import { relativeTimes } from "../src/messages/relative-time.ts";

// <time data-age datetime="…"> shows how long ago or how far ahead a moment is: a page that is polled is not sent again
// while only that changes. By the server's clock, since the browser's may be wrong.
const { lang, dataset } = document.documentElement;
const aheadMilliseconds = Date.parse(dataset.now ?? "") - Date.now();
const relative = relativeTimes(lang === "en" ? "en-GB" : lang);

function tick(): void {
  if (document.hidden) return;
  for (const element of document.querySelectorAll<HTMLTimeElement>("time[data-age]")) {
    // What a screen reader reads out when it changes keeps the page's own text.
    if (element.closest("[aria-live]") !== null) continue;
    const text = relative((Date.parse(element.dateTime) - Date.now() - aheadMilliseconds) / 1000);
    if (element.textContent !== text) element.textContent = text;
  }
}

if (!Number.isNaN(aheadMilliseconds)) setInterval(tick, 1000);
