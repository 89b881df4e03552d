import { attributesInForce } from "./htmx.ts";

// The palette shows the search page's results in a dialog over any page. Without a script the same link opens the page.
const dialog = document.querySelector<HTMLDialogElement>("#palette");
const input = dialog?.querySelector<HTMLInputElement>("input[type=search]") ?? null;

/** Opens the palette with the last text selected; on the search page it focuses the page's own field instead. */
export function openPalette(): void {
  const own = document.querySelector<HTMLInputElement>("main form[action='/search'] input[type=search]");
  if (own !== null) {
    own.focus();
    own.select();
    return;
  }
  if (dialog === null || input === null || dialog.open) return;
  dialog.showModal();
  input.select();
  void attributesInForce.then(() => input.dispatchEvent(new CustomEvent("palette")));
}

document.addEventListener("click", (event) => {
  const opener = (event.target as Element).closest("[data-palette]");
  if (opener === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openPalette();
});

// A click beside the dialog closes it, as with a menu: the backdrop belongs to the dialog element.
dialog?.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

// New results may no longer contain the focused link: typing then continues in the field.
dialog?.addEventListener("htmx:after:swap", () => {
  const { activeElement } = document;
  if (dialog.open && (activeElement === dialog || !dialog.contains(activeElement))) input?.focus();
});

/** Links of the results, of the palette or of the search page. */
const links = (around: Element) => [...around.querySelectorAll<HTMLAnchorElement>(".search-results a")];

document.addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  const around = target.closest<HTMLElement>("#palette, main:has(form[action='/search'])");
  if (around === null || event.ctrlKey || event.metaKey || event.altKey) return;
  // A search field would use the first Escape to clear itself, and the dialog would close only with the second.
  if (event.key === "Escape" && around === dialog) {
    event.preventDefault();
    dialog.close();
    return;
  }
  const field = around.querySelector<HTMLInputElement>("input[type=search]");
  const all = links(around);
  const index = all.indexOf(target as HTMLAnchorElement);
  if (index === -1 && target !== field) return;
  if (event.key === "ArrowDown") all[Math.min(index + 1, all.length - 1)]?.focus();
  else if (event.key === "ArrowUp") (index > 0 ? all[index - 1] : field)?.focus();
  else if (event.key === "Enter" && target === field && all.length > 0) all[0]?.click();
  // Typing continues in the field, whichever result has the focus.
  else if (index !== -1 && event.key.length === 1 && event.key !== " ") {
    field?.focus();
    return;
  } else return;
  event.preventDefault();
});
