import { createHash } from "node:crypto";
import type { ConsoleContext } from "../../console-context.ts";
import { formTokenField } from "../../csrf.ts";

/**
 * What a call for a posted form carries. The form's key makes a second click harmless; a form that comes with other
 * contents under the same key, as after the browser's back button, is another request.
 */
export function requestOptions(context: ConsoleContext, id: string) {
  return {
    params: { path: { server_id: id }, header: { "Idempotency-Key": requestKey(context.get("form")) } },
  };
}

/** The key of a posted form together with what was filled in. */
export function requestKey(form: URLSearchParams): string {
  const key = form.get("idempotency_key");
  if (key === null || key === "") return crypto.randomUUID();
  const contents = [...form].filter(([name]) => name !== "idempotency_key" && name !== formTokenField);
  const digest = createHash("sha256").update(JSON.stringify(contents)).digest("hex");
  return `${key}-${digest.slice(0, 16)}`;
}
