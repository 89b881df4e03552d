import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import { FormSeal } from "./parts.tsx";
import type { View } from "./view.ts";

/** A form that the browser's passkey fills in: the only form that needs a script. */
export function PasskeyForm(props: {
  readonly view: View;
  readonly action: string;
  readonly use: "register" | "authenticate";
  readonly ceremony: Schemas["PasskeyCeremony"];
  readonly submit: string;
  readonly children?: Child;
}) {
  const { view, action, use, ceremony, submit, children } = props;
  const text = view.messages.account;
  return (
    <form
      class="form"
      method="post"
      action={action}
      data-passkey={use}
      data-options={JSON.stringify(ceremony.options)}
    >
      <FormSeal view={view} idempotencyKey={crypto.randomUUID()} />
      <input type="hidden" name="ceremony" value={ceremony.ceremony} />
      <input type="hidden" name="response" value="" />
      {children}
      <p class="problem" data-passkey-problem="" role="alert" hidden>
        {text.passkeyFailed}
      </p>
      <noscript>
        <p class="hint">{text.passkeyNeedsScript}</p>
      </noscript>
      <button type="submit" class="button with-script" data-kind="primary" data-size="wide">
        {submit}
      </button>
    </form>
  );
}

/** What the script has put into the form; null when it was sent without a script. */
export function passkeyAnswer(
  form: URLSearchParams,
): { readonly ceremony: string; readonly response: Record<string, unknown> } | null {
  try {
    const response: unknown = JSON.parse(form.get("response") ?? "");
    if (typeof response !== "object" || response === null) return null;
    return { ceremony: form.get("ceremony") || "-", response: response as Record<string, unknown> };
  } catch {
    return null;
  }
}
