/** Tells screen readers what just happened, in the page's one live region. */
export function announce(text: string): void {
  const region = document.getElementById("announcements");
  if (region) region.textContent = text;
}
