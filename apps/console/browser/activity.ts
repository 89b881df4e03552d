import { announce } from "./announce.ts";

// Every page shows the running jobs, and announces the result of a job wherever the person is by then.
const turnMilliseconds = 5_000;
/**
 * Without running jobs the page polls only every so many turns: an open page must not use up its owner's rate limit.
 */
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
    // Empty for roles that may not read jobs.
    if (answer.status === 200) show(activity, await answer.text());
  } catch {
    // The page's own banner reports an API that does not answer; the last known text stays here until the next poll.
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
  // The link keeps the focus if it has it: only its text changes.
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
  // A note is not removed while the pointer is over it or the focus is in it.
  const leave = () => {
    if (toast.matches(":hover, :focus-within")) setTimeout(leave, toastMilliseconds);
    else toast.remove();
  };
  setTimeout(leave, toastMilliseconds);
}
