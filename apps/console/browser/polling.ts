/** Whether an element's request comes from its polling, rather than from a person's action. */
export const isPoll = (element: Element): boolean => element.hasAttribute("data-poll");

// A hidden page does not poll, and a list is not replaced while its checkbox or menu is in use.
document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = (event as CustomEvent<{ ctx: { sourceElement: Element } }>).detail;
  if (isPoll(ctx.sourceElement) && document.hidden) event.preventDefault();
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
