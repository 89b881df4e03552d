import { openPalette } from "./palette.ts";

// Keyboard shortcuts. Everything is reachable without them; `?` lists them.
const withinMilliseconds = 1_200;
let waitsForPlaceUntil = 0;

document.addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if ((event.target as Element).closest("input, textarea, select, [contenteditable], dialog, .xterm")) return;
  if (waitsForPlaceUntil > performance.now()) {
    waitsForPlaceUntil = 0;
    follow(`[data-key="${CSS.escape(event.key)}"]`, event);
    return;
  }
  if (event.key === "g") waitsForPlaceUntil = performance.now() + withinMilliseconds;
  else if (event.key === "c") follow("[data-key-alone='c']", event);
  else if (event.key === "/") focusFilter(event);
  else if (event.key === "?") {
    event.preventDefault();
    document.querySelector<HTMLDialogElement>("#shortcuts")?.showModal();
  }
});

function follow(selector: string, event: Event): void {
  const link = document.querySelector<HTMLAnchorElement>(`#shortcuts a${selector}`);
  if (link === null) return;
  event.preventDefault();
  link.click();
}

// The slash key focuses the search field of the list; on a page without one, it opens the palette.
function focusFilter(event: Event): void {
  event.preventDefault();
  const search = document.querySelector<HTMLInputElement>("main input[type=search]");
  if (search === null) openPalette();
  else search.focus();
}

const help = document.querySelector<HTMLDialogElement>("#shortcuts");
document.addEventListener("click", (event) => {
  const target = event.target as Element;
  if (target.closest("[data-shortcuts]")) {
    event.preventDefault();
    help?.showModal();
  }
  if (target === help || target.closest("[data-close-dialog]")) help?.close();
});
