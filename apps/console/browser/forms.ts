// Two small things that forms do better with a script. Each works without one, only less well.

// 1. A form is sent once. A second click would be answered by the same Idempotency-Key, but why ask.
document.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method !== "post" || event.defaultPrevented || form.hasAttribute("hx-post")) return;
  if (form.dataset.sent === "true") {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "true";
});
// The page may come back from the browser's cache, and then it may be sent again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-sent]")) delete form.dataset.sent;
});

// 2. Where the name must be typed to confirm, the button waits for it.
function checkConfirmation(input: HTMLInputElement): void {
  const button = input.form?.querySelector<HTMLButtonElement>("button[type=submit]");
  if (button) button.disabled = input.value.trim() !== input.dataset.confirm;
}
document.addEventListener("input", (event) => {
  const input = event.target as HTMLInputElement;
  if (input.dataset?.confirm !== undefined) checkConfirmation(input);
});
function checkAllConfirmations(): void {
  for (const input of document.querySelectorAll<HTMLInputElement>("input[data-confirm]"))
    checkConfirmation(input);
}
checkAllConfirmations();
document.addEventListener("htmx:after:swap", checkAllConfirmations);
