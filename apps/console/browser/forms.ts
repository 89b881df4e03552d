// Two additions to forms. Each form also works without a script.

// 1. A form is sent once. The Idempotency-Key would make a second click harmless; this saves the request.
document.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method !== "post" || event.defaultPrevented || form.hasAttribute("hx-post")) return;
  if (form.dataset.sent === "true") {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "true";
});
// The browser may restore the page from its cache, and then the form may be sent again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-sent]")) delete form.dataset.sent;
});

// 2. Where a name must be typed to confirm, the button is disabled until it matches.
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
