// A link to a form moves the focus to the first field of the form.
function focusForm(hash: string): void {
  const target = hash.length > 1 ? document.getElementById(decodeURIComponent(hash.slice(1))) : null;
  // The link that skips the navigation leads to the whole page, not to a form of it.
  if (target === null || target.localName === "main") return;
  const around = target.closest("section, form, details") ?? target;
  const field = around.querySelector<HTMLElement>(
    "form[method=post] :is(input:not([type=hidden], [type=checkbox], [type=radio]), textarea, select):not([disabled])",
  );
  if (field?.checkVisibility()) field.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[href^='#']");
  if (link === null || link.hash.length < 2 || event.defaultPrevented) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  // The browser would follow the link after this event, and keys that are typed meanwhile would be lost.
  event.preventDefault();
  location.hash = link.hash;
  focusForm(link.hash);
});
if (location.hash !== "") focusForm(location.hash);
