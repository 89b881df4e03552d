import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from "@simplewebauthn/browser";

// Forms with data-passkey request a passkey from the browser first, and are sent with its answer.
document.addEventListener(
  "submit",
  async (event) => {
    const form = (event.target as Element | null)?.closest<HTMLFormElement>("form[data-passkey]");
    const answer = form?.querySelector<HTMLInputElement>("input[name=response]");
    if (!form || !answer || answer.value !== "") return;
    // Stops other listeners: the form has not been sent yet.
    event.preventDefault();
    event.stopImmediatePropagation();
    const problem = form.querySelector<HTMLElement>("[data-passkey-problem]");
    if (problem) problem.hidden = true;
    try {
      if (!browserSupportsWebAuthn()) throw new Error("no passkeys here");
      const options: unknown = JSON.parse(form.dataset.options ?? "");
      const given =
        form.dataset.passkey === "register"
          ? await startRegistration({ optionsJSON: options as PublicKeyCredentialCreationOptionsJSON })
          : await startAuthentication({ optionsJSON: options as PublicKeyCredentialRequestOptionsJSON });
      answer.value = JSON.stringify(given);
    } catch {
      // Cancelled, timed out or not available: the person may try again.
      if (problem) problem.hidden = false;
      return;
    }
    form.requestSubmit();
  },
  { capture: true },
);
