// A link to a form moves the focus to the first field of the form.
function focusForm(hash: string): void {
  const target = hash.length > 1 ? document.getElementById(decodeURIComponent(hash.slice(1))) : null;
  const around = target?.closest("section, form, details") ?? target;
  const field = around?.querySelector<HTMLElement>(
    "form[method=post] :is(input:not([type=hidden], [type=checkbox], [type=radio]), textarea, select):not([disabled])",
  );
  if (field?.checkVisibility()) field.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[href^='#']");
  // Runs after the browser has scrolled to the fragment, which moves the focus there.
  if (link !== null && !event.defaultPrevented) setTimeout(() => focusForm(link.hash));
});
if (location.hash !== "") focusForm(location.hash);
