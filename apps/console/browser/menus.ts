// A menu is a `details`, which by itself stays open until its summary is pressed again. People expect of a menu that
// it goes away when they turn to something else: by a click beside it, by Escape, by going on with the Tab key. The
// same holds for a question before an act, so that no two of them ever lie over each other.
const openMenus = () =>
  document.querySelectorAll<HTMLDetailsElement>("details:is(.menu, .account, .organisation, .confirm)[open]");

function closeAllBut(place: Element): void {
  for (const menu of openMenus()) if (!menu.contains(place)) menu.open = false;
}

// Not when the button goes down: what lies below an open menu on a phone moves when it closes, away from under the finger.
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
