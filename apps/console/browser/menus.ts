// A menu is a `details` element, which by itself stays open until its summary is pressed again. People expect a menu to
// close when they click beside it, press Escape or move on with the Tab key. The same holds for a confirmation, so that
// no two of them are open at once.
const openMenus = () =>
  document.querySelectorAll<HTMLDetailsElement>(
    "details:is(.menu, .account, .more-sections, .confirm)[open]",
  );

function closeAllBut(place: Element): void {
  for (const menu of openMenus()) if (!menu.contains(place)) menu.open = false;
}

// Not on pointerdown: closing an open menu moves what is below it on a phone, away from under the finger.
document.addEventListener("click", (event) => closeAllBut(event.target as Element));

document.addEventListener("keyup", (event) => {
  if (event.key === "Tab" && document.activeElement !== null) closeAllBut(document.activeElement);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) {
    const hadFocus = menu.contains(document.activeElement);
    menu.open = false;
    if (hadFocus) menu.querySelector("summary")?.focus();
  }
});
