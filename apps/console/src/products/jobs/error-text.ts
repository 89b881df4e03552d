import type { Schemas } from "@kule/contract/schemas";
import type { Messages } from "../../messages/messages.ts";

/** Why a job failed, in the page's language if its code is known; a newer API's code has the API's own words. */
export function jobErrorText(messages: Messages, error: Schemas["JobError"]): string {
  const texts: Readonly<Record<string, string>> = messages.jobErrors;
  return Object.hasOwn(texts, error.code) ? (texts[error.code] ?? error.message) : error.message;
}
