import { announce } from "./announce.ts";

// What goes on is on every page, and how it ended is said wherever the person is by then.
const turnMilliseconds = 5_000;
/** With nothing going on, each so many turns: a page that lies open must not use up its owner's calls to the API. */
const quietTurns = 6;
const toastMilliseconds = 8_000;
const memory = "kule-open-jobs";
const mostKnown = 20;

const place = document.getElementById("activity");
if (place !== null) {
  void turn(place);
  let turns = 0;
  setInterval(() => {
    turns += 1;
    if ((sessionStorage.getItem(memory) ?? "") !== "" || turns % quietTurns === 0) void turn(place);
  }, turnMilliseconds);
  document.addEventListener("visibilitychange", () => void turn(place));
  document.addEventListener("click", (event) => {
    (event.target as Element).closest(".toast-close")?.closest(".toast")?.remove();
  });
}

let isAsking = false;

async function turn(activity: HTMLElement): Promise<void> {
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    const known = sessionStorage.getItem(memory) ?? "";
    const answer = await fetch(`/activity?known=${encodeURIComponent(known)}`, { redirect: "error" });
    // Without a text for roles that may not see jobs.
    if (answer.status === 200) show(activity, await answer.text());
  } catch {
    // The page's own banner says when nobody answers; here the last word stands until the next turn.
  } finally {
    isAsking = false;
  }
}

function show(activity: HTMLElement, html: string): void {
  const news = new DOMParser().parseFromString(html, "text/html");
  const link = news.querySelector<HTMLElement>(".activity-link");
  if (link === null) return;
  const open = (link.dataset.open ?? "").split(" ").filter(Boolean).slice(0, mostKnown);
  sessionStorage.setItem(memory, open.join(" "));
  // The link keeps the focus that it may have: only what it says changes.
  const standing = activity.querySelector(".activity-link");
  if (standing === null) activity.replaceChildren(link);
  else if (standing.outerHTML !== link.outerHTML) {
    for (const { name } of [...standing.attributes]) standing.removeAttribute(name);
    for (const { name, value } of [...link.attributes]) standing.setAttribute(name, value);
    standing.replaceChildren(...link.childNodes);
  }
  for (const toast of news.querySelectorAll<HTMLElement>(".toast")) pop(toast);
}

function pop(toast: HTMLElement): void {
  document.getElementById("toasts")?.append(toast);
  announce(toast.querySelector(".status")?.textContent ?? "");
  if (toast.dataset.stays !== undefined) return;
  // Not from under the pointer or the focus.
  const leave = () => {
    if (toast.matches(":hover, :focus-within")) setTimeout(leave, toastMilliseconds);
    else toast.remove();
  };
  setTimeout(leave, toastMilliseconds);
}
