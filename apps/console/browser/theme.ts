// The theme changes in place; without a script the form's answer is the same page in the new theme.
document.addEventListener(
  "submit",
  async (event) => {
    const form = event.target as HTMLFormElement;
    const submitter = event.submitter as HTMLButtonElement | null;
    if (submitter?.name !== "theme") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) body.append(name, String(value));
    body.set("theme", submitter.value);
    document.documentElement.dataset.theme = submitter.value;
    for (const button of form.querySelectorAll("button[name=theme]"))
      button.setAttribute("aria-pressed", String(button === submitter));
    await fetch(form.action, { method: "POST", body, redirect: "manual" });
  },
  true,
);
