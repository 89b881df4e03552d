/** Whether an element's request comes from its polling, rather than from a person's action. */
export const isPoll = (element: Element): boolean => element.hasAttribute("data-poll");

type PollEvent = CustomEvent<{
  ctx: {
    sourceElement: Element;
    request: { headers: Record<string, string> };
    response?: { headers: Headers };
  };
}>;

/** The tag of each part's last answer, as long as the part shows it. */
let tags = new WeakMap<Element, string>();

// A hidden page does not poll. What the page shows already is not sent again.
document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = (event as PollEvent).detail;
  if (!isPoll(ctx.sourceElement)) return;
  if (document.hidden) event.preventDefault();
  ctx.request.headers["If-None-Match"] = tags.get(ctx.sourceElement) ?? '"none"';
});

document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = (event as PollEvent).detail;
  const tag = ctx.response?.headers.get("etag");
  // A form's answer may have changed any part of the page.
  if (isPoll(ctx.sourceElement) && tag) tags.set(ctx.sourceElement, tag);
  else tags = new WeakMap();
});

/** Shows above the page that its content is the last known state. */
export function setStale(stale: boolean): void {
  const banner = document.getElementById("stale-banner");
  if (banner) banner.hidden = !stale;
}

// When the tab becomes visible again it refreshes at once, not at the next poll.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("[data-poll]"))
    element.dispatchEvent(new CustomEvent("refresh"));
});
