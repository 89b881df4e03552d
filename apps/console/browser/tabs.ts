// A row of tabs that is wider than the screen scrolls sideways. The current tab is brought into view, not the whole page.
for (const current of document.querySelectorAll<HTMLElement>(".tabs > [aria-current]")) {
  const tabs = current.parentElement;
  if (tabs === null) continue;
  const middle = current.offsetLeft - tabs.offsetLeft + current.offsetWidth / 2;
  tabs.scrollLeft = middle - tabs.clientWidth / 2;
}
