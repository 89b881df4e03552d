/** Announces a text to screen readers, in the page's only live region. */
export function announce(text: string): void {
  const region = document.getElementById("announcements");
  if (region) region.textContent = text;
}
