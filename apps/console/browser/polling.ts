/** Whether an element asks for itself again and again, rather than because a person did something. */
export const isPoll = (element: Element): boolean => element.hasAttribute("data-poll");

// A page that nobody sees does not ask, and a list whose checkbox or menu is in use is not changed under the hand.
document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = (event as CustomEvent<{ ctx: { sourceElement: Element } }>).detail;
  if (isPoll(ctx.sourceElement) && document.hidden) event.preventDefault();
});

/** Says above the page that what it shows is the last known state. */
export function setStale(stale: boolean): void {
  const banner = document.getElementById("stale-banner");
  if (banner) banner.hidden = !stale;
}

// Coming back to the tab: show the truth at once, not at the next turn.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("[data-poll]"))
    element.dispatchEvent(new CustomEvent("refresh"));
});
