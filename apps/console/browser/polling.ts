type RequestEvent = CustomEvent<{
  ctx: {
    sourceElement: Element;
    sourceEvent?: Event;
    request: { method: string };
    response?: { status: number };
  };
}>;

const isPoll = (element: Element) => element.hasAttribute("data-poll");

// A page that nobody sees does not ask, and a list whose checkbox or menu is in use is not changed under the hand.
document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = (event as RequestEvent).detail;
  if (isPoll(ctx.sourceElement) && document.hidden) event.preventDefault();
});

// What comes back with an error must not replace what is on the page: the banner says that it is old.
document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = (event as RequestEvent).detail;
  const status = ctx.response?.status ?? 0;
  if (!isPoll(ctx.sourceElement)) return;
  setStale(status >= 500);
  if (status >= 400) event.preventDefault();
  // What the page is about is no more, and would stand here for ever as it was seen last.
  const { gone } = (ctx.sourceElement as HTMLElement).dataset;
  if (status === 404 && gone !== undefined) location.assign(gone);
});
document.addEventListener("htmx:error", (event) => {
  const element = (event as RequestEvent).detail?.ctx?.sourceElement;
  if (element && isPoll(element)) setStale(true);
});

function setStale(stale: boolean): void {
  const banner = document.getElementById("stale-banner");
  if (banner) banner.hidden = !stale;
}

// Coming back to the tab: show the truth at once, not at the next turn.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("[data-poll]"))
    element.dispatchEvent(new CustomEvent("refresh"));
});
