import { announce } from "./announce.ts";

// Buttons with data-copy copy the text of the element that they name, or their own value, to the clipboard.
document.addEventListener("click", async (event) => {
  const button = (event.target as Element | null)?.closest<HTMLButtonElement>("button[data-copy]");
  if (!button) return;
  const source = button.dataset.copy ? document.getElementById(button.dataset.copy) : null;
  const text = source?.textContent ?? button.value;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the permission, or over plain http, the text is selected, ready for the keyboard.
    if (source) getSelection()?.selectAllChildren(source);
    return;
  }
  announce(button.dataset.copied ?? "");
  button.dataset.state = "copied";
  setTimeout(() => delete button.dataset.state, 1600);
});
